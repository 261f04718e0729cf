#include "topology/host/pcie_tree.hpp"

namespace weft::host {

Result<PcieTree> read_pcie_tree(const std::optional<std::filesystem::path>&) {
  return fail(ErrorKind::not_supported, "built without hwloc: GPUs and PCIe are not read");
}

}  // namespace weft::host
