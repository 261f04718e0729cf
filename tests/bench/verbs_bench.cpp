// Queue pairs of weft beside perftest, in the same guests (soft-RoCE, emulated): bandwidth and latency by
// turns, paired ratios; and how long a lab of four guests takes, booted and swept. Needs root and QEMU.
// usage: bench_verbs [ALTERNATIONS [beside|sweep]]: one part alone keeps the other's figures of an earlier
// run
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/bench/support/figures.hpp"
#include "tests/places.hpp"
#include "tests/support/rdma_rig.hpp"

namespace weft::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kMessage = 4096;
constexpr std::uint32_t kDepth = 8;     // messages under way, of both
constexpr std::uint32_t kHeaders = 60;  // IP, UDP, BTH, RETH, ICRC around a message
constexpr int kPingBytes = 84;          // of payload
/// Where a kernel and its programs lie decides how the emulators' caches suit them: by some per cent, by
/// boot.
constexpr int kTurnsPerBoot = 2;
constexpr std::uint32_t kPings = 10'000;  // 4 s: in the first of them the emulators still translate

std::string fabric(const char* rate, int leaves) {
  return fmt::format(
      "fabric: bench\nkind: roce\nclos: {{leaves: {}, spines: {}, hosts_per_leaf: 1}}\nlab: {{link_rate: {}, "
      "guests: all, guest_image: {}/guest}}\n",
      leaves, leaves, rate, WEFT_BINARY_DIR);
}

struct GaveUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// By an exception, so that the lab goes.
[[noreturn]] void give_up(const std::string& why) { throw GaveUp(why); }

/// The numbers of the last line of a program's output that has as many as `count`.
std::vector<double> last_numbers(const std::string& text, std::size_t count) {
  std::vector<double> last;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<double> numbers;
    for (const char* at = text.data() + begin; at < text.data() + end;) {
      double value = 0;
      const auto [next, error] = std::from_chars(at, text.data() + end, value);
      if (error == std::errc{}) numbers.push_back(value);
      at = error == std::errc{} ? next : at + 1;
    }
    if (numbers.size() >= count && text[begin] == ' ') last = numbers;
    begin = end + 1;
  }
  return last;
}

/// A pair of perftest programs, server on host2 and client on host1: the numbers of the client's result line.
/// Now and then a pair does not come together, or prints 0 for `wanted`: three tries.
std::vector<double> perftest(const RdmaRig& rig, std::vector<std::string> words, std::size_t wanted) {
  words.insert(words.end(), {"-d", "rxe_p1", "-x", "1", "-F"});
  auto client = words;
  client.push_back(to_string(rig.peer("host2").address));
  std::string said;
  for (int tries = 0; tries < 3; ++tries) {
    std::jthread server([&rig, words] { rig.in("host2", words); });
    std::this_thread::sleep_for(milliseconds(1500));
    const auto answer = rig.in("host1", client);
    const auto numbers = last_numbers(answer.output, wanted + 1);
    if (answer.status == 0 && numbers.size() > wanted && numbers[wanted] > 0) return numbers;
    said = answer.output + answer.errors;
  }
  give_up(words[0] + " printed no result: " + said);
}

/// MB/s (2^20) of ib_write_bw: column 4 of "#bytes #iterations peak average rate".
double perftest_bandwidth(const RdmaRig& rig) {
  const auto message = std::to_string(kMessage);
  return perftest(rig, {"ib_write_bw", "-s", message, "-t", std::to_string(kDepth), "-D", "4"}, 3)[3];
}

/// Two seconds after a warm-up of one: as `-D 4` measures, whose margins are a quarter each.
double our_bandwidth(const RdmaRig& rig) {
  const auto duration = seconds(2);
  datapath::FlowRequest request{
      .run = RunId(1), .batch = BatchId(1), .peers = {rig.peer("host2")}, .duration = duration};
  request.flow_options = {.message = Bytes(kMessage), .depth = kDepth, .warm_up = seconds(1)};
  request.specs = {{0, PathLabel(50'000), Bandwidth::gbit(100), Bytes(kMessage + kHeaders)}};
  const auto done =
      rig.run({"host1", "host2"}, {{{rig.nic("host1"), seconds(30), request}},
                                   {{rig.nic("host2"), seconds(5), session::ReceivedQuery{BatchId(1)}}}});
  if (done.answers.size() != 2 || !done.answers[1]) give_up("our flow: " + done.error);
  const auto& receipts = std::get<std::vector<datapath::ReceivedTally>>(*done.answers[1]);
  if (receipts.empty()) give_up("our flow moved nothing");
  const double bytes = static_cast<double>(receipts[0].packets) * kMessage;
  return bytes / std::chrono::duration<double>(receipts[0].last).count() / (1 << 20);
}

/// Microseconds, half a round trip: "t_typical" of ib_send_lat, column 5.
double perftest_latency(const RdmaRig& rig) {
  return perftest(
      rig, {"ib_send_lat", "-c", "UC", "-s", std::to_string(kPingBytes), "-n", std::to_string(kPings)}, 4)[4];
}

struct OurLatency {
  double network = 0;  // half of the network's share of a round trip
  double whole = 0;    // half of the whole round trip
};
OurLatency our_latency(const RdmaRig& rig) {
  datapath::PingRequest request{.run = RunId(1), .batch = BatchId(2), .peers = {rig.peer("host2")}};
  request.specs = {{0, PathLabel(50'000), PathLabel(50'000), kPings, Bytes(128)}};
  // As ib_send_lat does: both ends look without sleeping, and a probe goes as the one before it is answered.
  request.pace.packets_per_second = 0;
  request.busy_poll = true;
  const auto done = rig.run({"host1", "host2"}, {{{rig.nic("host1"), seconds(30), request}}});
  if (done.answers.empty() || !done.answers[0]) give_up("our pings: " + done.error);
  const auto& tally = std::get<std::vector<datapath::PingTally>>(*done.answers[0]).at(0);
  if (!tally.rtt || !tally.delays) give_up("our pings were not answered");
  const auto us = [](Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; };
  return {us(tally.rtt->p50) / 2, us(tally.delays->whole.p50) / 2};
}

/// The median of paired ratios, and the interval that holds it with 95 % (order statistics, n = 10: 2nd to
/// 9th).
void add_ratio(Figures& figures, const std::string& name, std::vector<double> ratios, const char* target) {
  std::ranges::sort(ratios);
  const std::size_t n = ratios.size();
  const double median = n % 2 == 1 ? ratios[n / 2] : (ratios[n / 2 - 1] + ratios[n / 2]) / 2;
  figures.add(name, median, target);
  figures.add(name + "_low", ratios[n >= 10 ? n / 10 : 0]);
  figures.add(name + "_high", ratios[n >= 10 ? n - 1 - n / 10 : n - 1]);
}

void beside_perftest(Figures& figures, int alternations) {
  std::vector<double> bandwidths;
  std::vector<double> latencies;
  std::vector<double> whole;
  std::unique_ptr<const RdmaRig> booted;
  for (int i = 0; i < alternations; ++i) {
    if (i % kTurnsPerBoot == 0) {
      booted.reset();  // the old one goes before the new one comes
      booted = std::make_unique<const RdmaRig>(fabric("none", 2));
      if (!booted->trouble().empty()) give_up(booted->trouble());
      booted->keep_apart();
    }
    const RdmaRig& rig = *booted;
    const double theirs = perftest_bandwidth(rig);
    const double ours = our_bandwidth(rig);
    const double their_latency = perftest_latency(rig);
    const auto our = our_latency(rig);
    fmt::print(stderr,
               "{:6.2f} MB/s ib_write_bw, {:6.2f} weft; {:7.1f} us ib_send_lat, {:7.1f} weft network, "
               "{:7.1f} whole\n",
               theirs, ours, their_latency, our.network, our.whole);
    bandwidths.push_back(ours / theirs);
    latencies.push_back(our.network / their_latency);
    whole.push_back(our.whole / their_latency);
  }
  add_ratio(figures, "bandwidth_vs_perftest", bandwidths, "at least 0.97");
  add_ratio(figures, "latency_vs_perftest", latencies, "at most 1.05");
  add_ratio(figures, "latency_with_hosts_vs_perftest", whole, "at most 1.05");
}

void rig_sweep(Figures& figures) {
  const auto start = std::chrono::steady_clock::now();
  {
    const RdmaRig rig(fabric("10M", 4));
    if (!rig.trouble().empty()) give_up(rig.trouble());
    figures.add("rig_boot_s", rig.boot_seconds());
    const auto answer = rig.weft({"sweep", "--lab=" + rig.name(), "--engine", "verbs", "--load", "full"});
    if (answer.status > 3) give_up(answer.errors);
    figures.add("rig_sweep_s",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                "at most 90");
    figures.add("rig_sweep_status", answer.status, "0");
  }
}

int run(int alternations, std::string_view part) {
  if (const auto missing = missing_for_guests(); !missing.empty()) give_up(missing);
  Figures figures("verbs");
  if (part != "beside") rig_sweep(figures);
  if (part != "sweep") beside_perftest(figures, alternations);
  figures.keep_earlier();
  return figures.write();
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    return weft::bench::run(argc > 1 ? std::max(std::atoi(argv[1]), 1) : 10, argc > 2 ? argv[2] : "");
  } catch (const weft::bench::GaveUp& why) {
    fmt::print(stderr, "bench_verbs: {}\n", why.what());
    return 70;
  }
}
