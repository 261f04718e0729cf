// The blacklist from evidence to marks at a target: `./bootstrap bench blacklist [--only NAME,...]`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

#include "balancer/export/gate.hpp"
#include "balancer/export/plan.hpp"
#include "balancer/export/slurm_target.hpp"
#include "balancer/export/sync.hpp"
#include "cli/ledger_options.hpp"
#include "collectors/store/ledger_store.hpp"
#include "tests/bench/support/pieces.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "tests/bench/support/weft_command.hpp"
#include "tests/support/blacklist_history.hpp"
#include "tests/support/killed_sync.hpp"
#include "tests/support/slurm_cluster.hpp"
#include "tests/support/translation_oracle.hpp"
#include "topology/base/statistics.hpp"
#include "topology/os/run_program.hpp"

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

/// A thousand entries, a tenth of them of NICs: what they demand of Slurm, against what stands at 3,072
/// nodes.
void measure_plan(Figures& figures) {
  const Fabric fabric = rails_24576();
  std::mt19937_64 random(1);
  blacklist::Ledger ledger{.fabric = fabric.name()};
  const exports::SlurmTarget target;
  const blacklist::Policy policy{.nic_action = blacklist::NicAction::rail};
  for (std::size_t i = 1; i <= kEntries; ++i) {
    const auto subject =
        i % 10 ? blacklist::Subject(LinkId(static_cast<std::uint32_t>(random() % fabric.link_count())))
               : blacklist::Subject(fabric.nics()[random() % fabric.nics().size()]);
    ledger.entries.push_back({.id = blacklist::EntryId(i),
                              .subject = blacklist::name_of(fabric, subject),
                              .state = blacklist::EntryState::active});
  }
  std::vector<double> took;
  std::size_t changes = 0;
  for (int round = 0; round < 9; ++round)
    took.push_back(cpu_milliseconds([&] {
      const auto translation = target.translate(ledger, fabric, policy);
      std::vector<exports::Standing> standings;
      for (std::string& object : exports::objects_to_read(target.name(), ledger, fabric, translation))
        standings.push_back({.object = std::move(object), .text = "in service"});
      changes = exports::plan_changes(target, ledger, fabric, translation, standings, policy.caps, {})
                    .changes.size();
    }));
  fmt::print("  {} changes\n", changes);
  figures.add("plan_24576_ms", median(took), "at most 200");
}

/// The program weft-gate, which the recipes call, and `weft gate`, each as a whole process, by a file of
/// 3,072 hosts, for the last of them.
void measure_gate(Figures& figures) {
  exports::Gate gate{.fabric = "f", .told_at = {}, .hosts = {}};
  gate.told_at = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  for (int i = 1; i <= 3072; ++i)
    gate.hosts.push_back({fmt::format("gpu{:04}", i), Verdict::healthy, "nothing found"});
  const auto path = (bench_folder() / "gate").string();
  std::ofstream(path) << gate_text(gate);
  const std::vector<std::string> words{"--file", path, "--host", "gpu3072"};
  const auto took = [&](std::vector<std::string> program) {
    program.insert(program.end(), words.begin(), words.end());
    std::vector<double> times;
    for (int i = 0; i < 41; ++i)
      times.push_back(
          milliseconds([&] { (void)os::run_program(program, "", std::chrono::seconds(60)).value(); }));
    return median(times);
  };
  figures.add("gate_ms", took({WeftCommand::kProgram + "-gate"}), "at most 20");
  figures.add("gate_by_weft_ms", took({WeftCommand::kProgram, "gate"}), "at most 20");
}

/// 64 of 66 nodes of a live slurmctld, from what the ledger has active to marks that were read back, and off
/// again: of an entry each, which is a call each, for their reasons differ.
void measure_drain(Figures& figures) {
  if (const auto why = why_no_slurm_here(); !why.empty()) {
    fmt::print("  left out: {}\n", why);
    return;
  }
  const SlurmCluster cluster(nullptr,
                             "fabric: f\nclos: {leaves: 11, spines: 1, hosts_per_leaf: 6, link: 50M}\n");
  if (!cluster.is_ready()) {
    fmt::print("  left out: Slurm's nodes did not come up\n");
    return;
  }
  const Fabric& fabric = cluster.opened().fabric();
  const auto scontrol = cluster.directory() / "scontrol";
  std::ofstream(scontrol) << fmt::format("#!/bin/sh\nexport {}\nexec nsenter {} scontrol \"$@\"\n",
                                         cluster.environment()[0], cluster.on_head_network());
  std::filesystem::permissions(scontrol, std::filesystem::perms::owner_all);
  auto store =
      store::LedgerStore::open(cluster.directory() / "bl.db", fabric.name(), store::Database::Access::write)
          .value();
  exports::SlurmTarget target({.scontrol = scontrol});
  const blacklist::Policy policy{.caps = {.hosts = 1, .most_hosts = 1}};
  const exports::Site site{fabric, policy, store, target, cli::now_of_machine, [](const auto&) {}};
  const auto sync_with = [&](blacklist::EntryState state) {
    const auto set = [&](blacklist::Ledger ledger) {
      if (ledger.entries.empty())
        for (const NodeId host : fabric.hosts().first(64))
          ledger.entries.push_back({.id = blacklist::EntryId(ledger.entries.size() + 1),
                                    .subject = blacklist::name_of(fabric, blacklist::Subject(host))});
      for (auto& entry : ledger.entries) entry.state = state;
      return Result<blacklist::Stepped>({std::move(ledger), {}});
    };
    auto ledger = store.change(site.clock().wall, set).value().ledger;
    return milliseconds([&] {
             auto look = exports::look_at(site, std::move(ledger)).value();
             const auto refused = exports::apply(site, look);
             if (!refused || *refused > 0) fmt::print("  not all nodes were changed\n");
           }) /
           1000;
  };
  std::vector<double> drained, given_back;
  for (int round = 0; round < 5; ++round) {
    drained.push_back(sync_with(blacklist::EntryState::active));
    const auto all = cluster.slurm({"sinfo", "-h", "-t", "drain", "-o", "%D"}).output;
    if (all != "64\n") fmt::print("  drained, as sinfo has it: {}", all);
    given_back.push_back(sync_with(blacklist::EntryState::released));
  }
  figures.add("slurm_drain_64_s", median(drained), "at most 1");
  figures.add("slurm_undrain_64_s", median(given_back));
}

void run_right_translation(Figures& figures) {
  const auto tried = try_translations(20);
  fmt::print("  {} translations{}\n", tried.all, tried.wrong.empty() ? "" : ", wrong first: " + tried.wrong);
  figures.add("right_translation", 100.0 * tried.right / tried.all, "100");
}

void run_kill_points(Figures& figures) {
  const auto points = try_kill_points();
  figures.add("kill_points", points.all);
  figures.add("kill_points_right", 100.0 * points.right / points.all, "100");
  const auto killed = try_killed_syncs(1);
  if (!killed.wrong.empty()) fmt::print("  wrong first: {}\n", killed.wrong);
  figures.add("kill_points_writes", killed.all);
  figures.add("kill_points_writes_right", killed.all == 0 ? 0.0 : 100.0 * killed.right / killed.all, "100");
}

/// WEFT_HISTORIES: fewer or more of them.
void run_histories(Figures& figures) {
  const char* wanted = std::getenv("WEFT_HISTORIES");
  const std::uint64_t histories = wanted ? std::strtoull(wanted, nullptr, 10) : 1'000'000;
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= histories; ++seed) {
    const auto broken = run_blacklist_history(seed);
    if (!broken.empty() && ++wrong <= 10) fmt::print("  seed {}: {}\n", seed, broken);
  }
  figures.add("histories", static_cast<double>(histories), "1,000,000");
  figures.add("histories_wrong", static_cast<double>(wrong), "0");
}

constexpr auto kPieces = std::to_array<Piece>({
    {"step", measure_step},
    {"plan", measure_plan},
    {"gate", measure_gate},
    {"slurm_drain", measure_drain},
    {"right_translation", run_right_translation},
    {"kill_points", run_kill_points},
    {"histories", run_histories},
});

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::run_pieces("blacklist", weft::bench::kPieces, argc, argv);
}
