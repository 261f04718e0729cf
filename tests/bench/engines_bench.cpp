// What the engines of packets cost: between two hosts and two routers of network namespaces. Needs root,
// valgrind for instructions, and DPDK's testpmd to be held against. usage: bench_engines, or what it calls
// itself: bench_engines echo raw|dpdk COUNT, bench_engines send COUNT, bench_engines open MTU
#include <fmt/format.h>

#include <sys/resource.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
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
/// Under callgrind: what is between them. DPDK's ring holds 1,152 of the chain's MTU, and there one thread
/// runs at a time.
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

/// Of this process, as the kernel names it in its status.
double megabytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::stod(line.substr(name.size())) / 1e3;
  return 0;
}

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
  echoed.peak_mb = megabytes("VmHWM:");
  return echoed;
}

/// Of this process with one NIC of this MTU opened by DPDK.
Result<double> megabytes_with_one_nic(std::uint32_t mtu) {
  WEFT_TRY(const auto chain, RouterChain::make());
  WEFT_TRY_VOID(chain->ip("h1", fmt::format("link set r1 mtu {}", mtu)));
  WEFT_TRY(const auto engine, open_at(true, *chain, 1));
  return megabytes("VmRSS:");
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

constexpr std::size_t kSentSize = 128;  // of the IP packet
constexpr std::size_t kSentFrame = packet::kEthernetSize + kSentSize;
constexpr const char* kRouterMac = "02:00:00:00:00:01";

double cpu_seconds(const rusage& used) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The first router takes what comes and sends nothing on.
Result<std::unique_ptr<RouterChain>> chain_to_nowhere() {
  WEFT_TRY(auto chain, RouterChain::make());
  WEFT_TRY_VOID(chain->ip("r1", fmt::format("link set h1 address {}", kRouterMac)));
  WEFT_TRY_VOID(chain->shell("r1", "sysctl -qw net.ipv4.ip_forward=0"));
  return chain;
}

/// Probes that nobody answers, by DPDK, as fast as they go: packets for each second of CPU, the kernel's
/// included.
Result<double> send_by_dpdk(std::uint32_t count) {
  WEFT_TRY(const auto chain, chain_to_nowhere());
  WEFT_TRY(const auto prober, open_at(true, *chain, 1));
  const datapath::PingRequest request{.run = kSecrets.run,
                                      .batch = BatchId(1),
                                      .peers = {{PortId(2), RouterChain::address(2, false)}},
                                      .specs = {{.label = PathLabel(50000),
                                                 .back_label = PathLabel(50001),
                                                 .count = count,
                                                 .size = Bytes(kSentSize)}},
                                      .pace = {.packets_per_second = 0}};
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  WEFT_TRY(const auto tallies, prober->ping(request, {}));
  ::getrusage(RUSAGE_SELF, &after);
  return static_cast<double>(tallies.front().sent) / (cpu_seconds(after) - cpu_seconds(before));
}

struct Sent {
  double packets = 0;
  double cpu_s = 0;
};

/// What testpmd sends in so many seconds, frames of the same size by the same device.
std::optional<Sent> sent_by_testpmd(const RouterChain& chain, double seconds) {
  const InNamespace here(chain.name("h1"));
  rusage before{}, after{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  const auto said = output_of(fmt::format(
      "sleep {} | dpdk-testpmd --no-huge -m 96 --no-pci --no-telemetry --file-prefix=weft-bench "
      "--vdev=net_af_packet0,iface=r1,framecnt=4096,qdisc_bypass=0 -l 0,1 -- --forward-mode=txonly "
      "--no-mlockall --total-num-mbufs=4096 --txpkts={} --eth-peer=0,{} --tx-ip=10.77.1.2,10.77.2.2 "
      "--tx-udp=50000,4791",
      seconds, kSentFrame, kRouterMac));
  ::getrusage(RUSAGE_CHILDREN, &after);
  const auto at = said.rfind("TX-packets: ");
  if (at == std::string::npos) {
    fmt::print(stderr, "bench_engines: testpmd: {}\n", said.substr(0, 600));
    return std::nullopt;
  }
  return Sent{std::stod(said.substr(at + 12)), cpu_seconds(after) - cpu_seconds(before)};
}

/// Packets for each second of CPU, without what starting takes: that is in both of two runs.
std::optional<double> send_by_testpmd() {
  const auto chain = chain_to_nowhere();
  if (!chain) return std::nullopt;
  const auto brief = sent_by_testpmd(**chain, .7), longer = sent_by_testpmd(**chain, 2.2);
  if (!brief || !longer || longer->cpu_s <= brief->cpu_s) return std::nullopt;
  return (longer->packets - brief->packets) / (longer->cpu_s - brief->cpu_s);
}

/// Of so many echoes, as callgrind counts in user space.
std::optional<double> instructions_of(const std::string& self, const char* engine, std::uint32_t echoes) {
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    const auto said = output_of(fmt::format(
        "valgrind --tool=callgrind --callgrind-out-file=/dev/null {} echo {} {}", self, engine, echoes));
    const auto at = said.find("Collected : ");
    if (at == std::string::npos) return std::nullopt;
    // What was lost cost nothing: on a busy host the far end is late and DPDK's ring full.
    if (said.find(kAllAnswered) != std::string::npos) return std::stod(said.substr(at + 12));
  }
  return std::nullopt;
}

/// For each of the two ends; what starting takes is in both runs.
std::optional<double> instructions_per_echo(const std::string& self, const char* engine) {
  std::array<double, 2> collected{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto counted = instructions_of(self, engine, kCounted[i]);
    if (!counted) return std::nullopt;
    collected[i] = *counted;
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

/// Seconds of CPU for each of many frames of a flow, by `send` (route, header, first PSN).
template <class Send>
double seconds_a_frame(Send send) {
  constexpr std::uint32_t kFrames = 50'000;
  const packet::ProbeRoute route{.from = RouterChain::address(1, false),
                                 .to = RouterChain::address(2, false)};
  packet::ProbeHeader header{.kind = packet::ProbeKind::flow};
  const auto first = packet::first_psn(header, kSecrets.key);
  return cpu_milliseconds([&] {
           for (header.sequence = 0; header.sequence < kFrames; ++header.sequence) send(route, header, first);
         }) /
         1e3 / kFrames;
}

/// To make one of this size.
double seconds_to_make(std::size_t size) {
  packet::FrameTemplate kept;
  packet::Authenticator authenticator(kSecrets.key);
  return seconds_a_frame([&](const auto& route, const auto& header, std::uint32_t first) {
    kept.write(route, header, authenticator, first, size);
  });
}

/// To make a small one and hand it to who takes all and sends nothing, as net_null does: it is copied once.
double seconds_to_null(bool by_encoder) {
  constexpr std::size_t kSize = 128;
  packet::FrameTemplate kept;
  packet::Authenticator authenticator(kSecrets.key);
  std::array<std::byte, packet::kEthernetSize + kSize> whole{}, taken{};
  return seconds_a_frame([&](const auto& route, const auto& header, std::uint32_t first) {
    if (by_encoder) encode_probe_frame(route, header, kSecrets.key, kSize, whole);
    const ByteSpan frame =
        by_encoder ? ByteSpan(whole) : kept.write(route, header, authenticator, first, kSize);
    std::memcpy(taken.data(), frame.data(), frame.size());
  });
}

/// All sides in turn, ten times: the median of their ratio, and the interval that holds it with 97.9 % (the
/// second of ten and the last but one).
template <class One, class Other>
void add_ratio(Figures& figures, const std::string& name, One one, Other other, const char* target) {
  constexpr std::size_t kTimes = 10;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kTimes; ++i) {
    const std::optional<double> above = one(), below = other();
    if (above && below) ratios.push_back(*above / *below);
  }
  if (ratios.size() < kTimes) return fmt::print("  {}: measured {} of 10 times\n", name, ratios.size());
  std::ranges::sort(ratios);
  figures.add(name, (ratios[kTimes / 2 - 1] + ratios[kTimes / 2]) / 2, target);
  figures.add(name + "_from", ratios[1]);
  figures.add(name + "_to", ratios[kTimes - 2]);
}

/// The number that this program answers, as another process.
std::optional<double> told_by(const std::string& self, const char* what, std::uint32_t number) {
  const auto said = output_of(fmt::format("{} {} {}", self, what, number));
  double value = 0;
  if (std::sscanf(said.c_str(), "%lf", &value) == 1) return value;
  fmt::print(stderr, "bench_engines: {}: {}\n", what, said);
  return std::nullopt;
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
    figures.add(engine + "_two_nics_mb", echoed->peak_mb, by_dpdk ? "both ends in it" : "");
    const auto instructions = instructions_per_echo(self, engine.c_str());
    if (instructions)
      figures.add(engine + "_instructions_per_echo", *instructions,
                  by_dpdk ? "at most 2,200" : "at most 2,000");
  }
  if (const auto one = told_by(self, "open", 1500)) figures.add("dpdk_mb", *one, "at most 45");
  if (const auto one = told_by(self, "open", 9000)) figures.add("dpdk_mtu_9000_mb", *one);
  figures.add("small_frame_ns", seconds_to_make(128) * 1e9);
  add_ratio(
      figures, "null_send_vs_now", [] { return seconds_to_null(true); },
      [] { return seconds_to_null(false); }, "at least 1.35");
  add_ratio(
      figures, "load4k_vs_small", [] { return seconds_to_make(4096); }, [] { return seconds_to_make(128); },
      "at most 1.5");
  if (output_of("command -v dpdk-testpmd").empty())
    fmt::print("  dpdk-testpmd is not installed: nothing to send against\n");
  else
    add_ratio(
        figures, "send_vs_testpmd", [&] { return told_by(self, "send", 600'000); }, send_by_testpmd,
        "at least .90");
  return figures.write();
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft;
  if (argc == 1) return bench::measure(argv[0]);
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const auto count = parse_whole_number<std::uint32_t>(words.back());
  const std::string_view what = words[1];
  const bool known = what == "echo" ? argc == 4 : argc == 3 && (what == "send" || what == "open");
  if (!count || !known) {
    fmt::print(stderr, "usage: bench_engines\n");
    return 64;
  }
  const auto said = [&]() -> Result<std::string> {
    if (what != "echo") {
      WEFT_TRY(const double value,
               what == "send" ? bench::send_by_dpdk(*count) : bench::megabytes_with_one_nic(*count));
      return fmt::format("{}\n", value);
    }
    WEFT_TRY(const auto echoed, bench::echo(std::string_view(words[2]) == "dpdk", *count));
    return fmt::format("{} {} {} {}\n{}", echoed.open_s, echoed.peak_mb, echoed.answered, echoed.per_s,
                       echoed.answered == 1 ? fmt::format("{}\n", bench::kAllAnswered) : "");
  }();
  if (said) return fmt::print("{}", *said), 0;
  fmt::print(stderr, "bench_engines: {}\n", said.error().message);
  return 69;
}
