// The cabling list as a document, weft.cabling/1: for programs, and for whoever makes tickets of it.
#pragma once

#include <string>

#include "probes/discover/cabling.hpp"
#include "topology/files/document.hpp"

namespace weft::discover {

/// `expected`: the fabric that should be; `notes`: sentences on what could not be read.
std::string cabling_json(const Fabric& expected, const CablingReport& report,
                         const std::vector<std::string>& notes, const files::DocumentStamp& stamp);

}  // namespace weft::discover
