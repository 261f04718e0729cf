// The subjects of a run: weft.RUN.TO.FROM. Names are written so that a dot in a host's name does not split
// the subject.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/base/ids.hpp"

namespace weft {

/// A name as one token of a subject: letters, digits, '-' and '_' as they are, every other byte as =XX.
std::string subject_token(std::string_view name);

std::string subject_of(RunId run, std::string_view to, std::string_view from);
/// All that `from` may send, to whomever.
std::string subject_to_anyone(RunId run, std::string_view from);
/// All that is sent to `to`.
std::string subscription_of(RunId run, std::string_view to);
/// Who sent to this subject; absent when it is not one of ours.
std::optional<std::string> sender_of(std::string_view subject);

}  // namespace weft
