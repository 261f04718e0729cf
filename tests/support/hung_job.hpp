// A simulated training job that hangs or is slow: hosts with as many GPUs as rails, ranks in tensor (a host),
// data (a rail) and world groups; it writes the dumps, the RAS document and the tables of queue pairs that a
// real one would leave, as bytes and texts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectors/nccl/hang.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// Writes pickles as PyTorch's C++ pickler does: protocol 2, texts kept and referred to, lists and
/// dictionaries by mark.
class PickleWriter {
 public:
  PickleWriter() : out_("\x80\x02") {}
  PickleWriter& dict() { return op('}').op('('); }
  PickleWriter& end_dict() { return op('u'); }
  PickleWriter& list() { return op(']').op('('); }
  PickleWriter& end_list() { return op('e'); }
  PickleWriter& pair() { return op('\x86'); }
  PickleWriter& text(const std::string& value);
  PickleWriter& whole(std::int64_t value);
  PickleWriter& truth(bool value) { return op(value ? '\x88' : '\x89'); }
  PickleWriter& none() { return op('N'); }
  PickleWriter& op(char code) {
    out_ += code;
    return *this;
  }
  /// Keeps what was written last, as PyTorch does with what it will write again; and refers to it.
  std::uint32_t keep();
  PickleWriter& again(std::uint32_t kept);
  std::string end() && {
    out_ += '.';
    return std::move(out_);
  }

 private:
  template <class T>
  PickleWriter& bytes(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PickleWriter& memo(char byte, char whole, std::uint32_t index);

  std::string out_;
  std::uint32_t next_ = 0;
  std::map<std::string, std::uint32_t> kept_;
};

enum class JobFault {
  none,
  never_entered,
  dead,
  mismatch,
  host_stopped,  // no dump, RAS finds it unresponsive
  gpu_stuck,     // entered, not started
  black_hole,    // one channel drops all
  loss,          // one channel drops 5 %
  slow_channel,  // one channel at a quarter of its rate
  slow_gpu,
};

/// Whose queue pairs have equal numbers.
enum class EqualNumbers {
  none,
  of_devices,  // each device counts its own, and a process has two devices
  of_pods,     // and all processes of a host have one pid, each in a namespace of its own
};

struct HungJobSpec {
  std::uint32_t pods = 4;
  std::uint32_t hosts_per_pod = 16;
  std::uint32_t rails = 8;
  std::uint32_t spines = 8;
  JobFault fault = JobFault::none;
  std::uint64_t seed = 1;
  std::size_t entries = 40;  // of a dump
  double lost_dumps = 0;     // share of dumps that are missing
  double cut_dumps = 0;      // share that are cut short
  double lost_tables = 0;    // share of hosts without tables of queue pairs
  bool with_qps = true;
  bool with_ras = true;
  EqualNumbers equal = EqualNumbers::none;
  bool with_proxies = false;  // nccl_comm_state of NCCLX: what the proxies of each rank have under way
  /// Entries that are completed are left out of the dumps.
  bool only_under_way = false;
};

struct HungJob {
  explicit HungJob(const HungJobSpec& spec);

  struct Dump {
    nccl::Rank rank;
    std::string bytes;
  };
  Fabric fabric;
  PathMap paths;
  std::vector<Dump> dumps;
  std::string ras;                  // empty: none
  std::vector<std::string> tables;  // two a host
  std::optional<nccl::Rank> faulty_rank;
  std::optional<ChannelId> faulty_channel;

  /// As the command reads them.
  nccl::HangInput input() const;
  nccl::HangVerdict explain() const;
};

/// A dump of `entries` completed entries, with `frames` stack frames each, as large jobs leave them.
std::string large_dump(nccl::Rank rank, std::size_t entries, std::size_t frames);

}  // namespace weft
