// for_seeds: the same work for many seeds, on all cores; the answers come in the order of the seeds, so that
// nothing depends on how many cores there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::bench {

struct Seeds {
  std::uint64_t base = 1;  // the first
  std::size_t count = 100;
  std::size_t threads = 1;
};

/// `work(index)` for every index below `count`; it may run in several threads at once.
template <class Work>
auto for_each_index(std::size_t count, std::size_t threads, Work work) {
  std::vector<std::invoke_result_t<Work, std::size_t>> answers(count);
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) answers[i] = work(i);
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(take);
    take();
  }
  return answers;
}

}  // namespace weft::bench
