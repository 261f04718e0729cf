// VerbsJob: a process that uses verbs as NCCL does (tests/nccl/verbs_client.cpp) over the fake driver, with
// libweft-nccl.so before it, and the directory by which it and an agent know of each other.
#pragma once

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "balancer/steer/process_qps.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft {

/// What a queue pair of the job has seen.
struct SeenQp {
  std::uint32_t first_label = 0;  // flow label that it was connected with
  std::uint64_t messages = 0;
  std::uint64_t wrong = 0;  // out of order, lost, doubled or with other bytes
  std::uint32_t drains = 0;
  std::vector<std::uint32_t> labels;  // messages went by, in turn
};

class VerbsJob {
 public:
  VerbsJob();

  std::filesystem::path directory() const { return scratch_.path() / "job"; }
  /// Of what the processes of all jobs are told.
  std::filesystem::path labels_path() const { return directory() / "labels"; }
  /// As `weft nccl steer` writes it: whole or not at all.
  void tell(const steer::LabelList& list) const;
  void tell_bytes(std::string_view bytes, const std::string& file = "labels") const;

  void start(std::vector<std::string> options, std::vector<std::string> env = {});
  /// Waits until it ends by itself; its queue pairs. Empty: it did not end well, and `said` tells.
  std::vector<SeenQp> end(std::chrono::seconds most = std::chrono::seconds(60));
  std::vector<SeenQp> run(std::vector<std::string> options, std::vector<std::string> env = {}) {
    start(std::move(options), std::move(env));
    return end();
  }
  /// Of the process; it has told.
  std::filesystem::path own_file() const;
  /// And waits until it is no more.
  void kill(int signal = SIGKILL);
  /// What its process tells of itself, once `wanted` holds of that; absent: it never did.
  template <class Wanted>
  std::optional<steer::ProcessQps> told(Wanted wanted) const {
    for (int turn = 0; turn < 1000; ++turn) {
      if (const auto process = read(); process && wanted(*process)) return process;
      nap();
    }
    return std::nullopt;
  }

  std::string said;
  std::string preload;  // libraries, in their order

 private:
  std::optional<steer::ProcessQps> read() const;
  static void nap();

  os::ScratchDirectory scratch_;
  std::optional<os::ChildProcess> child_;
};

/// Flow label n gives port kPort + n, for small n (section "labels" of docs/verbs.md).
inline constexpr std::uint32_t kPort = 0xC000;

void expect_nothing_lost(const std::vector<SeenQp>& qps);

/// The list for who sends (or answers) from 10.0.0.1 to 10.0.0.2 of the fake driver.
steer::PairLabels labels_of_pair(std::vector<std::uint32_t> labels, steer::Role role = steer::Role::sends);

}  // namespace weft
