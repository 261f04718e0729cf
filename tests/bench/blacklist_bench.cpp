// The blacklist's policy at size: `./bootstrap bench blacklist`.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "balancer/blacklist/policy.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "topology/base/statistics.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kEntries = 1000;
constexpr UtcTime kStart{std::chrono::seconds(1'800'000'000)};

/// A thousand entries on 24,576 NICs, and a run that sees a tenth of them again: one step.
void measure_step(Figures& figures) {
  const Fabric fabric = rails_24576();
  std::mt19937_64 random(1);
  const auto faults = [&](std::size_t count) {
    std::vector<blacklist::Fault> all;
    while (all.size() < count)
      all.push_back({ChannelId(static_cast<std::uint32_t>(random() % fabric.channel_count())), Cause::loss,
                     Verdict::degraded, 0.95});
    return all;
  };
  const blacklist::Policy policy;
  const auto evidence_at = [&](int minute, std::vector<blacklist::Fault> its) {
    const auto end = kStart + std::chrono::minutes(minute);
    return blacklist::Evidence{.run = fmt::format("run{}", minute),
                               .from = end - std::chrono::seconds(30),
                               .until = end,
                               .faults = std::move(its),
                               .clean = std::vector(fabric.channel_count(), true),
                               .shows_loss = 0.002};
  };
  blacklist::Ledger ledger{.fabric = fabric.name()};
  auto known = faults(kEntries);
  std::vector<double> took;
  for (int minute = 1; minute <= 12; ++minute) {
    const std::vector evidence{
        evidence_at(minute, minute == 1 ? known : std::vector(known.begin(), known.begin() + kEntries / 10))};
    const blacklist::Now now{kStart + std::chrono::minutes(minute), std::chrono::minutes(minute), "boot"};
    took.push_back(cpu_milliseconds(
        [&] { ledger = step(std::move(ledger), fabric, policy, evidence, {}, {}, now).ledger; }));
  }
  const auto active =
      std::ranges::count(ledger.entries, blacklist::EntryState::active, &blacklist::Entry::state);
  fmt::print("  {} entries, {} active, the breaker {}\n", ledger.entries.size(), active,
             ledger.breaker ? "holds" : "does not hold");
  figures.add("step_24576_first_ms", took.front());
  took.erase(took.begin());
  figures.add("step_24576_ms", median(took), "at most 20");
}

}  // namespace
}  // namespace weft::bench

int main() {
  weft::bench::Figures figures("blacklist");
  weft::bench::measure_step(figures);
  return figures.write();
}
