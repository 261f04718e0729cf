// The simulator and the files on a rail-optimised three-tier fabric of 24,576 NICs: how fast it answers, what
// it holds in memory, how long the fabric takes to write and read node by node.
#include <sys/resource.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "tests/bench/support/figures.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/fabric_json.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

Fabric large() {
  return *make_rails(
      {.groups = 4, .hosts_per_group = 32, .rails = 8, .spines = 32, .pods = 24, .cores = 1024});
}

/// The k-th peer of NIC i: far apart, so that all tiers are crossed and no two NICs ask for the same.
PortId peer_of(const Fabric& fabric, std::size_t i, std::size_t k) {
  return fabric.nics()[(i * 7919 + k * 3001 + 13) % fabric.nics().size()];
}

template <class Request>
void add_peers(Request& request, const Fabric& fabric, const AddressBook& addresses, std::size_t i,
               std::size_t peers) {
  for (std::size_t k = 0; k < peers; ++k) {
    const PortId nic = peer_of(fabric, i, k);
    request.peers.push_back({nic, *addresses.address_of(nic)});
  }
}

/// Specs per second: every NIC sends 100 packets to each of 8 peers by 5 labels, and is asked what it
/// received.
double ping_all(const Fabric& fabric, const AddressBook& addresses, sim::SimFabric& sim) {
  std::size_t specs = 0;
  const double took = bench::milliseconds([&] {
    for (std::size_t i = 0; i < fabric.nics().size(); ++i) {
      datapath::PingRequest request{.batch = BatchId(1)};
      add_peers(request, fabric, addresses, i, 8);
      for (std::uint32_t k = 0; k < 40; ++k)
        request.specs.push_back({k % 8, PathLabel(k / 8), PathLabel(k / 8)});
      specs += sim.engine(fabric.nics()[i])->ping(request, {})->size();
    }
    for (const PortId nic : fabric.nics()) static_cast<void>(sim.engine(nic)->received(BatchId(1)));
  });
  return static_cast<double>(specs) / took * 1e3;
}

/// Hop answers per second: every NIC traces 4 peers by 8 labels.
double trace_all(const Fabric& fabric, const AddressBook& addresses, sim::SimFabric& sim) {
  std::size_t answers = 0;
  const double took = bench::milliseconds([&] {
    for (std::size_t i = 0; i < fabric.nics().size(); ++i) {
      datapath::TraceRequest request{.batch = BatchId(2)};
      add_peers(request, fabric, addresses, i, 4);
      for (std::uint32_t k = 0; k < 32; ++k) request.specs.push_back({k % 4, PathLabel(k / 4)});
      answers += sim.engine(fabric.nics()[i])->trace(request, {})->size();
    }
  });
  return static_cast<double>(answers) / took * 1e3;
}

/// Milliseconds of a load round in which every NIC sends one flow.
double load_all(const Fabric& fabric, const AddressBook& addresses, sim::SimFabric& sim) {
  return bench::milliseconds([&] {
    for (std::size_t i = 0; i < fabric.nics().size(); ++i) {
      datapath::FlowRequest request{.batch = BatchId(3),
                                    .specs = {{.label = PathLabel(1), .rate = Bandwidth::gbit(390)}}};
      add_peers(request, fabric, addresses, i, 1);
      static_cast<void>(sim.engine(fabric.nics()[i])->run(request, {}));
    }
    for (const PortId nic : fabric.nics()) static_cast<void>(sim.engine(nic)->received(BatchId(3)));
  });
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run() {
  bench::Figures figures("simulator");
  const Fabric fabric = large();
  const auto plan = plan_addresses(fabric, IpFamily::v4);
  const auto sim = sim::SimFabric::make(fabric, plan->book, {.background_loss = Fraction(1e-6)});
  figures.add("sim_ping_specs_per_s", ping_all(fabric, plan->book, *sim));
  figures.add("sim_hop_answers_per_s", trace_all(fabric, plan->book, *sim));
  figures.add("sim_load_round_ms", load_all(fabric, plan->book, *sim));
  figures.add("sim_peak_mb", peak_mb());
  std::string text;
  figures.add("fabric_file_write_ms", bench::milliseconds([&] { text = files::write_fabric_file(fabric); }));
  bool is_read = false;
  figures.add("fabric_file_read_ms",
              bench::milliseconds([&] { is_read = files::parse_fabric_file(text, "f").has_value(); }));
  figures.add("fabric_json_ms", bench::milliseconds([&] { text = files::fabric_json(fabric, {}); }));
  return is_read ? figures.write() : 70;
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }
