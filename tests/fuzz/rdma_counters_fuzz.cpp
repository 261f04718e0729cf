// The counter files of an RDMA device, filled with any bytes: the input's lines after a byte 0xFF each, file
// by file, read twice. What reads is a number that stands in its file, and two readings make evidence without
// harm.
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "probes/diagnosis/host/nic_counter_evidence.hpp"
#include "topology/base/check.hpp"
#include "topology/host/rdma_counters.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;

constexpr std::array kFiles{
    "counters/symbol_error",    "counters/port_rcv_errors",  "counters/port_xmit_wait",
    "counters/link_downed",     "hw_counters/out_of_buffer", "hw_counters/np_cnp_sent",
    "hw_counters/symbol_error", "hw_counters/lifespan",      "gid_attrs/ndevs/0"};

/// A sysfs of one device, made once.
class Tree {
 public:
  Tree() {
    const std::filesystem::path memory = "/dev/shm";  // many files a run
    const auto place =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (place / "weft-fuzz-XXXXXX").string();
    WEFT_CHECK(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    for (const char* folder : {"counters", "hw_counters", "gid_attrs/ndevs"})
      std::filesystem::create_directories(port() / folder);
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::optional<NicCounters> read(std::string_view& input, Nanoseconds at) const {
    for (const char* file : kFiles) {
      const auto end = std::min(input.find('\xff'), input.size());
      std::ofstream(port() / file, std::ios::binary) << input.substr(0, end);
      input.remove_prefix(std::min(end + 1, input.size()));
    }
    return host::rdma_counters(root_, "fuzz_0", at);
  }

 private:
  std::filesystem::path port() const { return root_ / "class/infiniband/fuzz_0/ports/1"; }
  std::filesystem::path root_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tree tree;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto before = tree.read(input, Nanoseconds(0));
  const auto after = tree.read(input, std::chrono::seconds(1));
  WEFT_CHECK(before && after);  // the device is there, whatever its files hold
  WEFT_CHECK(!after->values.contains("lifespan") && after->values.size() <= kFiles.size());
  const auto steps = steps_between(fabric.nics()[0], *before, *after);
  WEFT_CHECK(steps.has_value());
  const auto evidence = diagnosis::nic_counter_evidence(fabric, {*steps});
  for (const ChannelCount& count : evidence.counts) WEFT_CHECK(count.exposure > 0 && !count.source.empty());
  for (const ChannelEvidence& sign : evidence.channels)
    WEFT_CHECK(sign.log_ratio >= 0 && sign.log_ratio < 1e300 && !sign.text.empty());
  return 0;
}
