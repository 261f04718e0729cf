// What the engines of packets cost: between two hosts and two routers of network namespaces. Needs root, and
// valgrind for instructions. usage: bench_engines, or what it calls itself: bench_engines echo raw|dpdk COUNT
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "probes/engine/dpdk/dpdk_engine.hpp"
#include "probes/engine/raw/raw_engine.hpp"
#include "probes/packet/frame_template.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/places.hpp"
#include "tests/support/router_chain.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::bench {
namespace {

using fakes::InNamespace;
using fakes::RouterChain;
using Engine = std::unique_ptr<nic::PacketEngine>;

const packet::RunSecrets kSecrets{.run = RunId(1), .key = {std::byte{42}}};
constexpr std::uint32_t kEchoes = 100'000;
/// Under callgrind: what is between them. DPDK's ring of 4,096 holds all of them, for there one thread runs
/// at a time.
constexpr std::array<std::uint32_t, 2> kCounted{1'000, 4'000};

Result<Engine> open_at(bool by_dpdk, const RouterChain& chain, int host) {
  const InNamespace here(chain.name(host == 1 ? "h1" : "h2"));
  const nic::HostNic nic{.interface = host == 1 ? "r1" : "r2", .address = RouterChain::address(host, false)};
  const PortId self(static_cast<std::uint32_t>(host));
  const auto nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
      {PortId(1), RouterChain::address(1, false)}, {PortId(2), RouterChain::address(2, false)}});
  if (!by_dpdk) return raw::open_raw_engine(nic, kSecrets, self, nics);
  WEFT_TRY(auto arguments, dpdk::parse_dpdk_arguments(dpdk::kUsualArguments));
  WEFT_TRY(auto opened,
           dpdk::open_dpdk_engine(nic, {std::move(arguments), WEFT_BINARY_DIR "/libweft_dpdk.so"}, kSecrets,
                                  self, nics));
  return std::move(opened.engine);
}

struct Echoed {
  double open_s = 0;  // the first engine of this process
  double peak_mb = 0;
  double answered = 0;  // of one
  double per_s = 0;
};

/// Pings as fast as they go, both ends in this process.
Result<Echoed> echo(bool by_dpdk, std::uint32_t count) {
  WEFT_TRY(const auto chain, RouterChain::make());
  Echoed echoed;
  Result<Engine> prober;
  echoed.open_s = milliseconds([&] { prober = open_at(by_dpdk, *chain, 1); }) / 1e3;
  if (!prober) return pass_on(prober);
  WEFT_TRY(const auto responder, open_at(by_dpdk, *chain, 2));
  const datapath::PingRequest request{
      .run = kSecrets.run,
      .batch = BatchId(1),
      .peers = {{PortId(2), RouterChain::address(2, false)}},
      .specs = {{.label = PathLabel(50000), .back_label = PathLabel(50001), .count = count}},
      .pace = {.packets_per_second = 0}};
  Result<std::vector<datapath::PingTally>> tallies;
  const double seconds = milliseconds([&] { tallies = (*prober)->ping(request, {}); }) / 1e3;
  if (!tallies) return pass_on(tallies);
  echoed.answered = static_cast<double>(tallies->front().answered) / count;
  const auto idle =
      echoed.answered < 1 ? std::chrono::duration<double>(request.pace.answer_wait).count() : 0.0;
  echoed.per_s = tallies->front().answered / (seconds - idle);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) echoed.peak_mb = std::stod(line.substr(6)) / 1e3;
  return echoed;
}

constexpr std::string_view kAllAnswered = "all were answered";

/// What a program of this name wrote on both outputs.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  ::pclose(pipe);
  return output;
}

/// In user space, for each of the two ends, as callgrind counts; what starting takes is in both runs.
std::optional<double> instructions_per_echo(const std::string& self, const char* engine) {
  std::array<double, 2> collected{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto said = output_of(fmt::format(
        "valgrind --tool=callgrind --callgrind-out-file=/dev/null {} echo {} {}", self, engine, kCounted[i]));
    const auto at = said.find("Collected : ");
    if (at == std::string::npos) return std::nullopt;
    if (said.find(kAllAnswered) == std::string::npos) return std::nullopt;  // what was lost cost nothing
    collected[i] = std::stod(said.substr(at + 12));
  }
  constexpr double kEnds = 2;
  return (collected[1] - collected[0]) / (kCounted[1] - kCounted[0]) / kEnds;
}

/// In a process of its own: DPDK starts once.
std::optional<Echoed> in_own_process(const std::string& self, const char* engine) {
  const auto said = output_of(fmt::format("{} echo {} {}", self, engine, kEchoes));
  Echoed echoed;
  if (std::sscanf(said.c_str(), "%lf %lf %lf %lf", &echoed.open_s, &echoed.peak_mb, &echoed.answered,
                  &echoed.per_s) == 4)
    return echoed;
  fmt::print(stderr, "bench_engines: {}: {}\n", engine, said);
  return std::nullopt;
}

/// Seconds for each of many frames of a flow, by `send` (route, header, first PSN).
template <class Send>
double seconds_a_frame(Send send) {
  constexpr std::uint32_t kFrames = 200'000;
  const packet::ProbeRoute route{.from = RouterChain::address(1, false),
                                 .to = RouterChain::address(2, false)};
  packet::ProbeHeader header{.kind = packet::ProbeKind::flow};
  const auto first = packet::first_psn(header, kSecrets.key);
  return milliseconds([&] {
           for (header.sequence = 0; header.sequence < kFrames; ++header.sequence) send(route, header, first);
         }) /
         1e3 / kFrames;
}

/// To make one of this size.
double seconds_to_make(std::size_t size) {
  packet::FrameTemplate kept;
  return seconds_a_frame([&](const auto& route, const auto& header, std::uint32_t first) {
    kept.write(route, header, kSecrets.key, first, size);
  });
}

/// To make a small one and hand it to who takes all and sends nothing, as net_null does: it is copied once.
double seconds_to_null(bool by_encoder) {
  constexpr std::size_t kSize = 128;
  packet::FrameTemplate kept;
  std::array<std::byte, packet::kEthernetSize + kSize> whole{}, taken{};
  return seconds_a_frame([&](const auto& route, const auto& header, std::uint32_t first) {
    if (by_encoder) encode_probe_frame(route, header, kSecrets.key, kSize, whole);
    const ByteSpan frame =
        by_encoder ? ByteSpan(whole) : kept.write(route, header, kSecrets.key, first, kSize);
    std::memcpy(taken.data(), frame.data(), frame.size());
  });
}

int measure(const std::string& self) {
  Figures figures("engines");
  for (const std::string engine : {"raw", "dpdk"}) {
    const bool by_dpdk = engine == "dpdk";
    const auto echoed = in_own_process(self, engine.c_str());
    if (!echoed && by_dpdk) continue;  // it says why; no DPDK on this machine
    if (!echoed) return 70;
    figures.add(engine + "_echoes_per_s", echoed->per_s);
    figures.add(engine + "_answered", echoed->answered, "1");
    figures.add(engine + "_open_s", echoed->open_s, by_dpdk ? "at most .5" : "");
    figures.add(engine + "_mb", echoed->peak_mb, by_dpdk ? "at most 45, for two NICs" : "");
    const auto instructions = instructions_per_echo(self, engine.c_str());
    if (instructions)
      figures.add(engine + "_instructions_per_echo", *instructions,
                  by_dpdk ? "at most 2,200" : "at most 2,000");
  }
  const double small = seconds_to_make(128);
  figures.add("small_frame_ns", small * 1e9);
  figures.add("null_send_vs_now", seconds_to_null(true) / seconds_to_null(false), "at least 1.35");
  figures.add("load4k_vs_small", seconds_to_make(4096) / small, "at most 1.5");
  return figures.write();
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft;
  if (argc == 1) return bench::measure(argv[0]);
  const auto count = argc == 4 ? parse_whole_number<std::uint32_t>(argv[3]) : std::nullopt;
  if (!count || std::string_view(argv[1]) != "echo") {
    fmt::print(stderr, "usage: bench_engines\n");
    return 64;
  }
  const auto echoed = bench::echo(std::string_view(argv[2]) == "dpdk", *count);
  if (!echoed) {
    fmt::print(stderr, "bench_engines: {}\n", echoed.error().message);
    return 69;
  }
  fmt::print("{} {} {} {}\n", echoed->open_s, echoed->peak_mb, echoed->answered, echoed->per_s);
  if (echoed->answered == 1) fmt::print("{}\n", bench::kAllAnswered);
  return 0;
}
