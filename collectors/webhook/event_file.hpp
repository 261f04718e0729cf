// Events as JSON Lines in a file, for programs that read logs.
#pragma once

#include <filesystem>

#include "topology/files/incident_json.hpp"

namespace weft::webhook {

/// Appends one line, whole. The file is opened each time, so that it may be moved away (logrotate); it is
/// made readable for its owner and group. Errors: not_found, permission, absent (the disk is full).
Result<void> append_event(const std::filesystem::path& path, const files::EventReport& event);

}  // namespace weft::webhook
