// The fabric file (YAML, docs/fabric-file.md): what the fabric is and how a lab builds it. Read from people
// and from other programs, so every error names file, line, what was expected and what stands there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "topology/files/counter_section.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/failure_domain.hpp"
#include "topology/model/lab_settings.hpp"

namespace weft::files {

struct FabricFile {
  Fabric fabric;
  LabSettings lab;
  AddressBook addresses = {};             // empty: the file says nothing of addresses
  std::vector<std::string> remarks = {};  // what is odd in an imported dump
  std::vector<FailureDomain> domains = {};
  CounterSources counters = {};
};

/// `file` stands in messages, and a relative `import` is looked for beside it.
Result<FabricFile> parse_fabric_file(std::string_view text, std::string_view file);
Result<FabricFile> read_fabric_file(const std::filesystem::path& path);

/// The fabric node by node and link by link; parse_fabric_file reads the same names, ids and rates back, as
/// long as every port has a cable or was added before those that have.
std::string write_fabric_file(const Fabric& fabric, const LabSettings& lab = {},
                              const AddressBook& addresses = {},
                              const std::vector<FailureDomain>& domains = {});

}  // namespace weft::files
