// A ledger that lives from step to step, for tests of its policy.
#pragma once

#include <string>
#include <vector>

#include "balancer/blacklist/policy.hpp"
#include "topology/model/clos.hpp"

namespace weft::blacklist {

using namespace std::chrono_literals;

inline constexpr UtcTime kStart{std::chrono::seconds(1'800'000'000)};

/// A ledger over a fabric, with a clock; minutes pass from step to step.
class Kept {
 public:
  explicit Kept(Fabric its = *make_clos({.leaves = 4, .spines = 8, .hosts_per_leaf = 10}))
      : fabric(std::move(its)) {}

  Evidence run(std::vector<Fault> faults = {}) {
    Evidence evidence{.run = "run" + std::to_string(++runs_),
                      .from = kStart + at - 10s,
                      .until = kStart + at,
                      .faults = std::move(faults),
                      .clean = std::vector(fabric.channel_count(), true),
                      .shows_loss = 0.001};
    for (const Fault& fault : evidence.faults)
      for (const ChannelId channel : channels_of(fabric, fault.subject))
        evidence.clean[channel.value()] = false;
    return evidence;
  }
  Fault fault(std::string_view name, double confidence = 0.999, Verdict verdict = Verdict::degraded) const {
    return {*parse_subject(fabric, name), Cause::loss, verdict, confidence, {"3 of 1,000 lost"}};
  }
  std::vector<LedgerEvent> pass(Seconds time, std::vector<Evidence> evidence = {},
                                std::vector<Command> commands = {}) {
    at += time;
    auto stepped =
        step(std::move(ledger), fabric, policy, evidence, commands, mutes, {kStart + at, at, "boot"});
    ledger = std::move(stepped.ledger);
    return stepped.events;
  }
  /// As pass(), by a run that saw these.
  std::vector<LedgerEvent> sweep(Seconds time, std::vector<Fault> faults = {}) {
    at += time;
    const auto evidence = run(std::move(faults));
    at -= time;
    return pass(time, {evidence});
  }
  EntryState state(std::size_t entry = 0) const { return ledger.entries.at(entry).state; }

  Fabric fabric;
  Policy policy;
  Mutes mutes;
  Ledger ledger;
  Seconds at{1000};

 private:
  int runs_ = 0;
};

inline std::vector<EventKind> kinds(const std::vector<LedgerEvent>& events) {
  std::vector<EventKind> all;
  for (const auto& event : events) all.push_back(event.kind);
  return all;
}

}  // namespace weft::blacklist
