// A captured host of the shape of a DGX H100, written as a tree of files: 2 NUMA nodes; 4 PCIe switches, each
// with 2 GPUs and 2 ConnectX-7 of 400 Gb/s (eth0..eth7, mlx5_0..mlx5_7); one dual-port ConnectX-7 for storage
// beside them (eth8, eth9). sys/ holds the files that weft reads, hwloc.xml what lstopo writes. Values may be
// changed before or after writing: a test breaks one thing.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace weft {

class CapturedHost {
 public:
  struct Options {
    std::set<std::string> without;  // PCI addresses that are gone from the tree
  };
  CapturedHost() : CapturedHost(Options{}) {}
  explicit CapturedHost(const Options& options);
  ~CapturedHost();
  CapturedHost(const CapturedHost&) = delete;
  CapturedHost& operator=(const CapturedHost&) = delete;

  const std::filesystem::path& root() const { return root_; }
  /// Addresses, two of each a switch.
  static std::vector<std::string> gpus();
  static std::vector<std::string> nics();
  /// The interfaces of the eight NICs of the compute fabric.
  static std::vector<std::string> fabric_interfaces();

  /// Writes a file of the tree anew: put("sys/class/net/eth3/mtu", "1500").
  void put(const std::string& file, const std::string& text) const;
  void remove(const std::string& file) const;
  static std::string pci_folder(const std::string& address) { return "sys/bus/pci/devices/" + address + "/"; }
  static std::string rdma_port(int nic) {
    return "sys/class/infiniband/mlx5_" + std::to_string(nic) + "/ports/1/";
  }

 private:
  void put_pci(const std::string& address) const;
  void put_nic(int nic, const std::string& address) const;
  void put_xml(const Options& options) const;

  std::filesystem::path root_;
};

}  // namespace weft
