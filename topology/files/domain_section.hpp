// The `domains` of a fabric file: which hosts and switches fail together, how often and for how long.
#pragma once

#include <vector>

#include "topology/files/yaml_tree.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/failure_domain.hpp"

namespace weft::files {

/// `where`: a list of {name, kind, members: [host[1-4], leaf1], events, exposure: 365d, share: 100%, repair:
/// 6h}. Members are nodes of the fabric, each once in a domain; share may be left out (all). Errors name the
/// line.
Result<std::vector<FailureDomain>> read_domains(YamlView where, const Fabric& fabric);

/// As a fabric file has them; empty where there are none.
std::string domains_text(const Fabric& fabric, const std::vector<FailureDomain>& domains);

}  // namespace weft::files
