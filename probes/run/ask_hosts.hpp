// Asks many hosts one question each, by a program that is started on them, and takes what it says: all at
// once as far as the machine allows, each within its limit. Starts processes; one thread.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/run/gathering.hpp"
#include "probes/run/launch_template.hpp"
#include "probes/run/relay.hpp"
#include "topology/base/result.hpp"
#include "topology/os/child_process.hpp"

namespace weft::run {

/// Starts what asks the host of this index, with the output that it is given.
using AskHost = std::function<Result<os::ChildProcess>(std::size_t host, os::ChildSpec spec)>;

/// Hosts that are reached ask the next ones (`weft relay`).
struct AskTree {
  LaunchTemplate launcher;
  std::string program;                                         // weft on the hosts
  std::function<RelayedHost(std::size_t host)> question = {};  // what `ask` would start, without its launcher
};

struct AskOptions {
  GatherLimits limits = {};
  std::size_t longest = 1'000'000;  // bytes of output that are read of each
  std::optional<AskTree> tree = std::nullopt;
  /// Called with each answer as it comes, before it is kept.
  std::function<void(std::size_t host, const HostAnswer&)> on_answer = {};
};

/// In the order of the hosts. With a tree, what its relays could not reach is asked by `ask`. `tick` is
/// called again and again, with how many are done. When `stop` is requested the rest are given up.
std::vector<HostAnswer> ask_hosts(std::size_t hosts, const AskHost& ask, const AskOptions& options,
                                  const std::function<void(std::size_t done)>& tick, std::stop_token stop);

/// The same program starts everywhere: where it is not on this machine, why; null: somebody was asked.
const Error* launcher_absent(const std::vector<HostAnswer>& answers);

}  // namespace weft::run
