#include "tests/bench/nccl/guest_figures.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <sstream>
#include <thread>

#include "tests/places.hpp"
#include "tests/support/steered_job.hpp"
#include "topology/base/statistics.hpp"

namespace weft::bench {
namespace {

using std::chrono::seconds;
using steer::PairLabels;
using steer::Role;

constexpr seconds kMaxJob{300};     // guests are emulated
constexpr std::uint32_t kQps = 64;  // of labels_right
constexpr std::uint32_t kRing = 8;  // queue pairs to each neighbour, of moves
constexpr std::array<const char*, 4> kHosts{"host1", "host2", "host3", "host4"};

std::string fabric(int leaves, int spines, int hosts, const char* rate) {
  return fmt::format(
      "fabric: bench\nkind: roce\nclos: {{leaves: {}, spines: {}, hosts_per_leaf: {}}}\nlab: {{link_rate: "
      "{}, "
      "guests: all, guest_image: {}/guest}}\n",
      leaves, spines, hosts, rate, WEFT_BINARY_DIR);
}

std::vector<double> numbers(const std::string& line) {
  std::istringstream words(line);
  std::vector<double> all;
  for (double number = 0; words >> number;) all.push_back(number);
  return all;
}

class Guests {
 public:
  explicit Guests(const std::string& fabric) : rig_(fabric) {}
  const std::string& trouble() const { return rig_.trouble(); }
  const RdmaRig& rig() const { return rig_; }
  IpAddress address(const char* host) const { return rig_.peer(host).address; }

  /// ib_write_bw, from one host to another, both ways where `words` say so; the client's answer.
  Answer write_bw(const char* from, const char* to, std::vector<std::string> words, bool with_weft) const {
    auto all = with_weft ? kWithWeft : std::vector<std::string>{};
    all.insert(all.end(), {"ib_write_bw", "-d", "rxe_p1", "-x", "1", "-F"});
    all.insert(all.end(), words.begin(), words.end());
    auto server = std::async(std::launch::async, [this, all, to] { return rig_.in(to, all, kMaxJob); });
    all.push_back(to_string(address(to)));
    Answer client;
    for (int tries = 0; tries < 20 && client.status != 0; ++tries) {
      std::this_thread::sleep_for(seconds(1));
      client = rig_.in(from, all, kMaxJob);
    }
    server.get();
    return client;
  }
  struct RingLoad {
    std::uint32_t qps = kRing;  // of each process to the next
    int messages = 0;           // 0: until end()
    int bytes = 4096;
    int pause_us = 2000;
    int depth = 8;     // messages of a queue pair that may be under way
    int timeout = 19;  // what is lost is sent again after 4.096 us * 2^timeout
  };
  /// Four processes.
  std::vector<std::future<Answer>> ring(const RingLoad& load) const {
    std::vector<std::future<Answer>> processes;
    for (std::size_t i = 0; i < kHosts.size(); ++i) {
      auto words = kWithWeft;
      words.insert(
          words.end(),
          {"ring_client", "rxe_p1", "1", "7000", to_string(address(kHosts[(i + 1) % 4])), "7000",
           std::to_string(load.qps), std::to_string(load.messages), std::to_string(load.bytes),
           std::to_string(load.pause_us), fmt::format("depth={}", load.depth), std::to_string(load.timeout)});
      processes.push_back(
          std::async(std::launch::async, [this, i, words] { return rig_.in(kHosts[i], words, kMaxJob); }));
    }
    return processes;
  }
  /// Ends a ring that goes on until it is told; how many of its processes had an error or a wrong message.
  std::size_t end(std::vector<std::future<Answer>>& ring) const {
    for (const char* host : kHosts) rig_.in(host, {"killall", "-TERM", "ring_client"});
    std::size_t wrong = 0;
    for (auto& process : ring) {
      const Answer answer = process.get();
      wrong += answer.status == 0 ? 0 : 1;
      if (answer.status != 0) fmt::print(stderr, "ring: {} {}\n", answer.output, answer.errors);
    }
    return wrong;
  }
  /// Of host `i` of the ring: `first` and on for data, `first` + 5,000 and on for credits.
  steer::LabelList ring_labels(std::size_t i, std::uint32_t qps, std::uint32_t first) const {
    auto data = spaced_labels(address(kHosts[i]), address(kHosts[(i + 1) % 4]), first, qps);
    auto credits = spaced_labels(address(kHosts[i]), address(kHosts[(i + 3) % 4]), first + 5000, qps);
    credits.role = Role::answers;
    return {1, {data, credits}};
  }
  void forget() const {
    for (const char* host : kHosts) rig_.in(host, {"rm", "-rf", "/tmp/job"});
  }

 private:
  RdmaRig rig_;
};

/// The share of queue pairs all of whose packets have the port assigned.
struct Share {
  std::size_t right = 0;
  std::size_t all = 0;
  void count(const PortsByQp& ports, std::uint32_t first) {
    const auto seen = ports_in_order(ports);
    all += std::max<std::size_t>(kQps, seen.size());
    for (std::uint32_t i = 0; i < kQps; ++i)
      right += i < seen.size() && seen[i] == std::vector{first + 10 * i} ? 1 : 0;
  }
};

void labels_right(const Guests& guests, Figures& figures) {
  const auto one = guests.address("host1");
  const auto two = guests.address("host2");
  put_labels(guests.rig(), "host1", {1, {spaced_labels(one, two, 50'000, kQps)}});
  put_labels(guests.rig(), "host2", {1, {spaced_labels(two, one, 60'000, kQps)}});
  Share share;
  for (const bool by_ops : {false, true}) {
    PortsByQp back;
    const auto there = guests.rig().ports_used("host1", [&] {
      back = guests.rig().ports_used("host2", [&] {
        std::vector<std::string> words{"-q", std::to_string(kQps), "-s", "1024", "-n", "10", "-t", "4", "-b"};
        if (by_ops) words.emplace_back("--use_old_post_send");
        guests.write_bw("host1", "host2", words, true);
      });
    });
    share.count(there, 50'000);
    share.count(back, 60'000);
  }
  // Of the ring, at both ends of host1 and host2: data goes there by host1's first list, credits come back by
  // host2's second; and what host1 sends to the one before by its second.
  for (std::size_t i = 0; i < kHosts.size(); ++i)
    put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kQps, 50'000));
  std::vector<SeenPacket> of_two;
  const auto of_one = guests.rig().packets_of("host1", [&] {
    of_two = guests.rig().packets_of("host2", [&] {
      for (auto& process : guests.ring({.qps = kQps, .messages = 10, .bytes = 1024, .pause_us = 1000}))
        process.get();
    });
  });
  share.count(ports_to(two, of_one), 50'000);
  share.count(ports_to(one, of_two), 55'000);
  share.count(ports_to(guests.address("host4"), of_one), 55'000);
  guests.forget();
  figures.add("labels_right", static_cast<double>(share.right) / static_cast<double>(share.all), "1.000");
  figures.add("labels_checked", static_cast<double>(share.all));
}

/// "#bytes #iterations peak average rate": the average.
double bandwidth(const Answer& answer, const std::string& bytes) {
  std::istringstream lines(answer.output);
  double found = 0;
  for (std::string line; std::getline(lines, line);)
    if (const auto row = numbers(line); row.size() >= 4 && std::to_string(static_cast<long>(row[0])) == bytes)
      found = row[3];
  return found;
}

void shim_vs_plain(const Guests& guests, Figures& figures) {
  constexpr int kPairs = 9;
  std::vector<double> ratios;
  for (int i = 0; i < kPairs; ++i) {
    std::array<double, 2> rate{};
    for (int turn = 0; turn < 2; ++turn) {
      const bool with_weft = (turn + i) % 2 != 0;
      rate[with_weft ? 1 : 0] =
          bandwidth(guests.write_bw("host1", "host2",
                                    {"-s", "4096", "-t", "8", "-D", "3", "--use_old_post_send"}, with_weft),
                    "4096");
    }
    fmt::print(stderr, "{:.2f} MB/s plain, {:.2f} with the library\n", rate[0], rate[1]);
    if (rate[0] > 0 && rate[1] > 0) ratios.push_back(rate[1] / rate[0]);
  }
  if (ratios.empty()) return;
  std::ranges::sort(ratios);
  figures.add("shim_vs_plain", median(ratios), "at least .97");
  figures.add("shim_vs_plain_low", ratios[ratios.size() / 9]);
  figures.add("shim_vs_plain_high", ratios[ratios.size() - 1 - ratios.size() / 9]);
}

/// Two lists by turns under a ring, of several message sizes, depths and rates: all that three of them send
/// is more than the guests' processors take, the last is not.
void moves(const Guests& guests, Figures& figures) {
  struct Load {
    int bytes;
    int pause_us;
    int depth;
    bool is_light = false;
  };
  std::vector<double> under_load;
  std::size_t late = 0;
  std::size_t wrong = 0;
  for (const Load load :
       {Load{1024, 500, 32}, Load{4096, 2000, 8}, Load{16'384, 8000, 2}, Load{4096, 100'000, 8, true}}) {
    for (std::size_t i = 0; i < kHosts.size(); ++i) {
      put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kRing, 50'000), "/tmp/a");
      put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kRing, 51'000), "/tmp/b");
      put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kRing, 50'000));
    }
    auto ring = guests.ring({.bytes = load.bytes, .pause_us = load.pause_us, .depth = load.depth});
    std::this_thread::sleep_for(seconds(5));
    std::vector<std::future<Answer>> timers;
    for (const char* host : kHosts)
      timers.push_back(std::async(std::launch::async, [&guests, host] {
        return guests.rig().in(host, {"steer_timer", "/tmp/job", "6", "/tmp/b", "/tmp/a"});
      }));
    std::vector<double> took;
    for (auto& timer : timers) {
      const Answer answer = timer.get();
      for (const double milliseconds : numbers(answer.output)) {
        took.push_back(milliseconds < 0 ? 10'000 : milliseconds);
        late += milliseconds < 0 ? 1 : 0;
      }
    }
    wrong += guests.end(ring);
    guests.forget();
    if (took.empty()) continue;
    fmt::print(stderr,
               "{} bytes, {} us between, depth {}: {} moves, half within {:.0f} ms, 9 of 10 within {:.0f}, "
               "all within "
               "{:.0f}; so far {} not within 10 s, {} processes with errors\n",
               load.bytes, load.pause_us, load.depth, took.size(), quantile(took, .5), quantile(took, .9),
               std::ranges::max(took), late, wrong);
    if (load.is_light)
      figures.add("move_ms_p90_light", quantile(took, .9));
    else
      under_load.insert(under_load.end(), took.begin(), took.end());
  }
  if (under_load.empty()) return;
  figures.add("moves", static_cast<double>(under_load.size()), "1,000");
  figures.add("moves_failed", static_cast<double>(late + wrong), "0");
  figures.add("move_ms_p50", quantile(under_load, .5));
  figures.add("move_ms_p90", quantile(under_load, .9), "at most 250");
}

/// A label of each path between two hosts, by the kernel's own answer at the first leaf.
std::map<std::string, std::vector<PathLabel>> labels_by_next_hop(const Guests& guests, const char* leaf,
                                                                 const char* from, const char* to) {
  std::map<std::string, std::vector<PathLabel>> labels;
  std::string script;
  for (std::uint32_t label = 50'000; label < 50'040; ++label)
    script += fmt::format("ip route get {} from {} iif p1 ipproto udp sport {} dport 4791 | head -n 1;",
                          to_string(guests.address(to)), to_string(guests.address(from)), label);
  const Answer answer = guests.rig().in(leaf, {"sh", "-c", script});
  std::istringstream lines(answer.output);
  std::uint32_t label = 50'000;
  for (std::string line; std::getline(lines, line); ++label) {
    const auto via = line.find("via ");
    if (via == line.npos) continue;
    const auto end = line.find(' ', via + 4);
    labels[line.substr(via + 4, end - via - 4)].emplace_back(label);
  }
  return labels;
}

/// A link of host1's leaf loses packets under the ring; from the new list's being there (the diagnosis) until
/// each queue pair has a label of another path. The least that is possible is the time-out of what was lost
/// last: until it is sent again its queue pair cannot rest.
std::vector<double> rebalanced(const Guests& guests, int timeout) {
  constexpr int kTurns = 5;
  std::vector<double> took;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < kHosts.size(); ++i) {
      put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kRing, 51'000), "/tmp/b");
      put_labels(guests.rig(), kHosts[i], guests.ring_labels(i, kRing, 50'000));
    }
    auto ring = guests.ring({.timeout = timeout});
    std::this_thread::sleep_for(seconds(5));
    guests.rig().weft({"lab", "fault", "leaf1--spine2", "--name", guests.rig().name(), "--loss", "2"});
    std::vector<std::future<Answer>> timers;
    for (const char* host : kHosts)
      timers.push_back(std::async(std::launch::async, [&guests, host] {
        return guests.rig().in(host, {"steer_timer", "/tmp/job", "1", "/tmp/b", "/tmp/b"});
      }));
    double last = 0;
    for (auto& timer : timers)
      for (const double milliseconds : numbers(timer.get().output))
        last = std::max(last, milliseconds < 0 ? 10'000 : milliseconds);
    guests.rig().weft({"lab", "heal", "--name", guests.rig().name()});
    fmt::print(stderr, "rebalanced after {:.0f} ms, {} processes with errors\n", last, guests.end(ring));
    took.push_back(last / 1e3);
    guests.forget();
  }
  return took;
}
void rebalanced(const Guests& guests, Figures& figures) {
  for (const auto& [timeout, name] : {std::pair(19, "rebalanced_s"), {16, "rebalanced_s_timeout_16"}}) {
    auto took = rebalanced(guests, timeout);
    figures.add(name, median(took), "at most 1");
    figures.add(fmt::format("{}_worst", name), std::ranges::max(took));
  }
}

/// Two flows of one leaf over two spines: both on one, then one on each. The fluid model says twice as much.
void gain(Figures& figures) {
  const Guests guests(fabric(2, 2, 2, "10M"));
  if (!guests.trouble().empty()) return fmt::print(stderr, "{}\n", guests.trouble());
  const auto one = labels_by_next_hop(guests, "leaf1", "host1", "host3");
  const auto two = labels_by_next_hop(guests, "leaf1", "host2", "host4");
  if (one.size() != 2 || two.size() != 2) return fmt::print(stderr, "labels of both spines are not found\n");
  const auto run = [&](bool assigned) {
    const auto& first = one.begin()->second.front();
    const auto& second = (assigned ? std::next(two.begin()) : two.begin())->second.front();
    PairLabels of_one = spaced_labels(guests.address("host1"), guests.address("host3"), 0, 0);
    PairLabels of_two = spaced_labels(guests.address("host2"), guests.address("host4"), 0, 0);
    of_one.labels = {first};
    of_two.labels = {second};
    put_labels(guests.rig(), "host1", {1, {of_one}});
    put_labels(guests.rig(), "host2", {1, {of_two}});
    // The two begin up to two seconds apart, and who is alone has the link alone: long enough to matter
    // little.
    const std::vector<std::string> words{"-s", "1024", "-t", "4", "-D", "40", "-u", "18"};
    auto other =
        std::async(std::launch::async, [&] { return guests.write_bw("host2", "host4", words, true); });
    const Answer mine = guests.write_bw("host1", "host3", words, true);
    const double rate = bandwidth(mine, "1024") + bandwidth(other.get(), "1024");
    fmt::print(stderr, "{}: {:.3f} MB/s\n", assigned ? "assigned" : "colliding", rate);
    return rate;
  };
  std::vector<double> gains;
  for (int i = 0; i < 4; ++i) {
    const bool assigned_first = i % 2 != 0;
    const double first = run(assigned_first);
    const double second = run(!assigned_first);
    if (first > 0 && second > 0) gains.push_back(assigned_first ? first / second : second / first);
  }
  if (gains.empty()) return;
  constexpr double kPredicted = 2;
  figures.add("gain_measured", median(gains));
  figures.add("gain_vs_predicted", median(gains) / kPredicted, "within .15 of 1");
}

}  // namespace

void add_guest_figures(Figures& figures, std::string_view which) {
  if (const auto missing = missing_for_guests(); !missing.empty())
    return fmt::print(stderr, "bench_nccl: no guests: {}\n", missing);
  const auto is_asked = [&](std::string_view name) { return which.empty() || which == name; };
  if (is_asked("labels") || is_asked("cost") || is_asked("moves") || is_asked("failure")) {
    const Guests guests(fabric(4, 4, 1, "50M"));
    if (!guests.trouble().empty()) return fmt::print(stderr, "bench_nccl: {}\n", guests.trouble());
    if (is_asked("labels")) labels_right(guests, figures);
    if (is_asked("cost")) shim_vs_plain(guests, figures);
    if (is_asked("moves")) moves(guests, figures);
    if (is_asked("failure")) rebalanced(guests, figures);
  }
  if (is_asked("gain")) gain(figures);
}

}  // namespace weft::bench
