// Causes told apart, on a fabric of the lab's size with the lab's numbers of probes.
#include <algorithm>

#include "tests/bench/diagnosis/special.hpp"
#include "tests/probes/diagnosis/made_up_run.hpp"

namespace weft::bench {
namespace {

const std::vector<std::pair<std::string, diagnosis::MadeUpFault>> kFaults{
    {"none", {}},
    {"loss", {.loss = 0.005}},
    {"down", {.loss = 1.0}},
    {"mtu", {.largest = Bytes(1000)}},
    {"corruption", {.corrupt = 0.01}},
    {"delay", {.delay_us = 2000}},
    {"rate", {.rate = 0.5}},
    {"congestion", {.traffic = 1.0}},
};

void load_rounds(diagnosis::MadeUpRun& run, std::uint32_t spine, std::uint32_t leaf) {
  for (std::uint32_t round = 0; round < 4; ++round) {
    std::vector<std::vector<ChannelId>> paths;
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t top = 0; top < 4; ++top)
        paths.push_back(run.path(from * 4 + (top + round) % 4,
                                 (from + 1 + round % 3) % 4 * 4 + (top + 2 * round) % 4, top));
    run.load(round, paths, 0.95);
  }
  const std::uint32_t first = (leaf + 1) % 4 * 4;
  const std::uint32_t second = (leaf + 2) % 4 * 4 + 1;
  for (std::uint32_t round = 4; round < 7; ++round)
    run.load(round, {run.path(leaf * 4, first, spine), run.path(leaf * 4 + 1, second, spine)}, 0.95);
}

/// What is named; suspicions count only where they are all there is.
std::string named(const diagnosis::MadeUpRun& run, const Diagnosis& diagnosis, const std::string& channel) {
  const auto is_named = [](const auto& finding) { return finding.verdict != Verdict::unknown; };
  const auto link = std::ranges::find_if(diagnosis.links, is_named);
  const auto names = std::ranges::count_if(diagnosis.links, is_named) +
                     std::ranges::count_if(diagnosis.hosts, is_named) +
                     std::ranges::count_if(diagnosis.groups, is_named);
  if (names == 0)
    return diagnosis.links.empty() && diagnosis.hosts.empty() && diagnosis.groups.empty() ? "nothing"
                                                                                          : "unknown";
  if (names > 1 || link == diagnosis.links.end()) return "several";
  const LinkFinding& finding = *link;
  if (finding.channel != run.channel(channel)) return "elsewhere";
  return std::string(to_string(finding.cause));
}

}  // namespace

std::map<std::string, std::map<std::string, std::size_t>> confuse_causes(const Seeds& seeds) {
  std::map<std::string, std::map<std::string, std::size_t>> table;
  for (const auto& [cause, fault] : kFaults)
    for (std::size_t i = 0; i < seeds.count; ++i) {
      diagnosis::MadeUpRun run(seeds.base + i);
      const auto leaf = static_cast<std::uint32_t>(i % 4);
      const auto spine = static_cast<std::uint32_t>(i / 4 % 4);
      const std::string channel = fmt::format("leaf{}->spine{}", leaf + 1, spine + 1);
      run.fault(channel) = fault;
      run.background = 1e-5;
      run.probe(1200, 100, Bytes(128), true);
      run.probe(400, 10, Bytes(4096));
      load_rounds(run, spine, leaf);
      ++table[cause][named(run, run.diagnosed(), channel)];
    }
  return table;
}

}  // namespace weft::bench
