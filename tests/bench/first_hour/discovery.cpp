// How much of a fabric that nobody described is found, and whether what is claimed is right.
#include <chrono>

#include "probes/discover/against_file.hpp"
#include "probes/discover/found_fabric.hpp"
#include "tests/bench/first_hour/pieces.hpp"
#include "tests/support/simulated_traces.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

struct Tally {
  CableScore all;
  std::size_t hidden = 0;        // cables of switches that never answer
  std::size_t hidden_named = 0;  // of these, those that a gap names
  std::size_t miswired = 0;
  std::size_t miswired_named = 0;

  void add(const CableScore& one) {
    all.cables += one.cables;
    all.claimed += one.claimed;
    all.right += one.right;
    all.found += one.found;
  }
};

void discover_one(const Fabric& design, Tally& tally) {
  const auto plan = plan_addresses(design, IpFamily::v4).value();
  const SimulatedDiscovery plain(design, plan.book);
  tally.add(score(design, plan.book, plain.script.found()));

  const NodeId spine = design.find_node("spine2").value();
  const SimulatedDiscovery silent(design, plan.book, {.silent = {spine}});
  auto seen = score(design, plan.book, silent.script.found());
  const std::size_t hidden = design.ports_of(spine).size();
  tally.hidden += hidden;
  for (const auto& gap : silent.script.found().gaps) tally.hidden_named += gap.addresses.size();
  seen.cables -= hidden;
  tally.add(seen);

  const LinkId one = design.find_link("leaf1--spine1").value();
  const LinkId other = design.find_link("leaf2--spine2").value();
  const auto real = with_swapped(design, one, other);
  const SimulatedDiscovery moved(real, plan.book);
  tally.add(score(real, plan.book, moved.script.found()));
  const auto found = discover::found_fabric({.hosts = moved.hosts, .traced = moved.script.found()}).value();
  const auto said =
      discover::differences_from_file(found.fabric, found.addresses, {design, {}, plan.book, {}});
  ++tally.miswired;
  for (const LinkId link : {one, other})
    for (const auto& line : said)
      if (line.starts_with(design.name_of(design.link(link).a))) {
        ++tally.miswired_named;
        return;
      }
}

}  // namespace

void measure_discovery(Figures& figures) {
  Tally tally;
  for (const auto& fabric :
       {make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value(),
        make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8}).value(),
        make_pod_clos({.pods = 4, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 4}).value(),
        make_rails({.groups = 2, .hosts_per_group = 8, .rails = 4, .spines = 4}).value()})
    discover_one(fabric, tally);
  const auto share = [](std::size_t some, std::size_t all) {
    return all == 0 ? 1.0 : static_cast<double>(some) / static_cast<double>(all);
  };
  figures.add("discover_right", share(tally.all.right, tally.all.claimed), "1.00");
  figures.add("discover_found", share(tally.all.found, tally.all.cables), "1.00 of what answers");
  figures.add("discover_hidden_named", share(tally.hidden_named, tally.hidden), "1.00");
  figures.add("discover_miswired_named", share(tally.miswired_named, tally.miswired), "1.00");
}

/// 64 hosts at the rate of live switches: what the packets take at the pace that the script asks for.
void measure_discovery_time(Figures& figures) {
  const auto fabric = make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8}).value();
  const auto plan = plan_addresses(fabric, IpFamily::v4).value();
  for (const auto& [name, rate] :
       {std::pair("discover_64_hosts_s", 100'000.0), {"discover_64_hosts_live_s", 100.0}}) {
    const auto start = std::chrono::steady_clock::now();
    const SimulatedDiscovery run(fabric, plan.book, {}, rate);
    const std::chrono::duration<double> computed = std::chrono::steady_clock::now() - start;
    figures.add(name, computed.count() + run.script.sending_time(), "at most 60");
  }
}

}  // namespace weft::bench
