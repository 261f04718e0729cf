// Doing one thing for many nodes on a few threads: setting up a namespace waits for the kernel more than it
// computes.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft {

/// Calls `work` for every node; the first error, or a stop, ends it and is given back.
template <class Work>
Result<void> for_each_node(std::span<const NodeId> nodes, std::stop_token stop, Work&& work) {
  constexpr std::size_t kThreads = 4;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Result<void> outcome;
  const auto run = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) {
      auto done = stop.stop_requested() ? Result<void>(fail(ErrorKind::conflict, "stopped")) : work(nodes[i]);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (outcome) outcome = std::move(done);
      next = nodes.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kThreads, nodes.size()); ++i) threads.emplace_back(run);
  }
  return outcome;
}

}  // namespace weft
