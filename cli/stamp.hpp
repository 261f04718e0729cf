// When, and by whom: the stamp of documents written now, and who gives a command.
#pragma once

#include <string>

#include "topology/files/document.hpp"

namespace weft::cli {

files::DocumentStamp stamp_now();

/// The user as the environment names him, also under sudo, else his number: for lists that people read, no
/// proof of anything.
std::string who_asks();

}  // namespace weft::cli
