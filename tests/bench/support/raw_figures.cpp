#include "tests/bench/support/raw_figures.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "probes/engine/raw/raw_engine.hpp"
#include "tests/support/router_chain.hpp"

namespace weft::bench {
namespace {

using fakes::InNamespace;
using fakes::RouterChain;

constexpr std::uint32_t kHopProbes = 200'000;
constexpr std::uint32_t kEchoes = 100'000;
constexpr datapath::Pace kAsFastAsItGoes{.packets_per_second = 0};
const packet::RunSecrets kSecrets{.run = RunId(1), .key = {std::byte{42}}};

Result<std::unique_ptr<nic::PacketEngine>> open_at(const RouterChain& chain, int host) {
  const InNamespace here(chain.name(host == 1 ? "h1" : "h2"));
  return raw::open_raw_engine(
      {.interface = host == 1 ? "r1" : "r2", .address = RouterChain::address(host, false)}, kSecrets,
      PortId(static_cast<std::uint32_t>(host)),
      std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
          {PortId(1), RouterChain::address(1, false)}, {PortId(2), RouterChain::address(2, false)}}));
}

template <class Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

datapath::TraceRequest trace_of(BatchId batch, std::uint32_t labels, std::uint8_t hops) {
  datapath::TraceRequest request{.run = kSecrets.run,
                                 .batch = batch,
                                 .peers = {{PortId(2), RouterChain::address(2, false)}},
                                 .attempts = 1,
                                 .pace = kAsFastAsItGoes};
  for (std::uint32_t i = 0; i < labels; ++i)
    request.specs.push_back({.label = PathLabel(49152 + i % 16384), .max_hops = hops});
  return request;
}

Result<double> hop_probes_per_s(datapath::ProbeEngine& prober) {
  const auto request = trace_of(BatchId(1), kHopProbes, 1);
  Result<std::vector<datapath::HopAnswer>> answers;
  const auto seconds = seconds_of([&] { answers = prober.trace(request, {}); });
  if (!answers) return pass_on(answers);
  return static_cast<double>(answers->size()) /
         (seconds - std::chrono::duration<double>(answers->size() < kHopProbes ? request.pace.answer_wait
                                                                               : Nanoseconds(0))
                        .count());
}

Result<double> pair_ms(datapath::ProbeEngine& prober) {
  // The first packets of a quiet fabric wait for the routers to find their neighbours.
  if (auto warm = prober.trace(trace_of(BatchId(99), 1, 3), {}); !warm) return pass_on(warm);
  std::vector<double> times;
  for (std::uint32_t i = 0; i < 21; ++i) {
    const auto request = trace_of(BatchId(100 + i), 64, 3);
    Result<std::vector<datapath::HopAnswer>> answers;
    times.push_back(seconds_of([&] { answers = prober.trace(request, {}); }) * 1e3);
    if (!answers) return pass_on(answers);
    if (answers->size() != 3 * 64)
      return fail(ErrorKind::internal, "{} of 192 hops answered", answers->size());
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

Result<double> echoes_per_s(datapath::ProbeEngine& prober) {
  const datapath::PingRequest request{
      .run = kSecrets.run,
      .batch = BatchId(2),
      .peers = {{PortId(2), RouterChain::address(2, false)}},
      .specs = {{.label = PathLabel(50000), .back_label = PathLabel(50001), .count = kEchoes}},
      .pace = kAsFastAsItGoes};
  Result<std::vector<datapath::PingTally>> tallies;
  const auto seconds = seconds_of([&] { tallies = prober.ping(request, {}); });
  if (!tallies) return pass_on(tallies);
  const auto idle = tallies->front().answered < kEchoes ? request.pace.answer_wait : Nanoseconds(0);
  return tallies->front().answered / (seconds - std::chrono::duration<double>(idle).count());
}

}  // namespace

Result<RawFigures> measure_raw() {
  const auto chain = RouterChain::make();
  if (!chain) return pass_on(chain);
  const auto prober = open_at(**chain, 1);
  if (!prober) return pass_on(prober);
  const auto responder = open_at(**chain, 2);
  if (!responder) return pass_on(responder);
  const auto pair = pair_ms(**prober);
  if (!pair) return pass_on(pair);
  const auto hops = hop_probes_per_s(**prober);
  if (!hops) return pass_on(hops);
  const auto echoes = echoes_per_s(**prober);
  if (!echoes) return pass_on(echoes);
  return RawFigures{.raw_probes_per_s = *hops, .pathmap_pair_ms = *pair, .raw_echoes_per_s = *echoes};
}

}  // namespace weft::bench
