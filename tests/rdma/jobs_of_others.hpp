// Fixtures of tests that run programs which know nothing of weft, libweft-nccl.so before them, in guests with
// soft-RoCE: ib_write_bw and ucx_perftest between two hosts, and a ring of four that uses verbs as NCCL does.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/rdma/queue_pairs_rig.hpp"
#include "tests/support/steered_job.hpp"

namespace weft {

inline constexpr std::uint32_t kQps = 8;
/// Guests are emulated: on a busy machine a program in one takes seconds to start.
inline constexpr std::chrono::seconds kMaxJob{600};
/// For a move to be told: some seconds on an idle machine.
inline constexpr std::chrono::seconds kMaxWait{120};

inline steer::PairLabels pair_of(const IpAddress& own, const IpAddress& peer, std::uint32_t first) {
  return spaced_labels(own, peer, first, kQps);
}

inline std::vector<std::vector<std::uint32_t>> labels_from(std::uint32_t first) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t i = 0; i < kQps; ++i) all.push_back({first + 10 * i});
  return all;
}

/// A program that is its own server on one host, and on another its client, where the server's address stands
/// last. Both must end well.
inline void run_between(const RdmaRig& rig, const std::string& server, const std::string& client,
                        const std::vector<std::string>& words, std::chrono::seconds limit) {
  auto serving = std::async(std::launch::async, [&] { return rig.in(server, words, limit); });
  auto client_words = words;
  client_words.push_back(to_string(rig.peer(server).address));
  Answer ended;
  for (int turn = 0; turn < 20 && ended.status != 0; ++turn) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ended = rig.in(client, client_words, limit);
  }
  EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
  const Answer served = serving.get();
  EXPECT_EQ(served.status, 0) << served.output << served.errors;
}

class JobsOfOthers : public QueuePairs {
 protected:
  void tell(const std::string& host, const steer::LabelList& list) {
    EXPECT_EQ(put_labels(rig(), host, list).status, 0);
  }
  /// ib_write_bw between host1 and host3, both ways at once, while packets of `host` are captured.
  PortsByQp write_between(const std::string& host, const std::vector<std::string>& more, bool with_weft) {
    std::vector<std::string> words = with_weft ? kWithWeft : std::vector<std::string>{};
    words.insert(words.end(), {"ib_write_bw", "-d", "rxe_p1", "-x", "1", "-q", std::to_string(kQps), "-s",
                               "1024", "-n", "40", "-t", "8", "-b", "-F"});
    words.insert(words.end(), more.begin(), more.end());
    return rig().ports_used(host, [&] { run_between(rig(), "host3", "host1", words, seconds(100)); });
  }
  /// UCX's ucx_perftest between host1 and host3 by one queue pair. It connects by TCP: soft-RoCE does not
  /// carry UCX's own way over IPv4 (ucx_test.cpp). `test`: put_lat, where each writes in turn, or put_bw,
  /// where host1 alone does; captured are writes, no acknowledgements.
  PortsByQp ucx_between(const std::string& host, const char* test, const char* messages, bool with_weft,
                        seconds limit) {
    std::vector<std::string> words = with_weft ? kWithWeft : std::vector<std::string>{"env"};
    words.insert(words.end(), {"ucx_perftest", "-d", "rxe_p1:1", "-x", "rc_verbs", "-t", test, "-D", "zcopy",
                               "-s", "8192", "-O", "8", "-w", "2", "-n", messages});
    return rig().ports_used(host, [&] { run_between(rig(), "host3", "host1", words, limit); });
  }
  void tell_both() {
    const auto one = rig().peer("host1").address;
    const auto three = rig().peer("host3").address;
    tell("host1", {1, {pair_of(one, three, 50'000)}});
    tell("host3", {1, {pair_of(three, one, 60'000)}});
  }
};

/// Four processes in a ring, each with kRing queue pairs to the next and as many from the one before.
class Ring : public JobsOfOthers {
 protected:
  static constexpr std::uint32_t kRing = 4;
  static constexpr std::array<const char*, 4> kHosts{"host1", "host2", "host3", "host4"};

  /// Each host's labels: `first` and on for data, `first` + 1,000 and on for credits.
  void tell_all(std::uint64_t generation, std::uint32_t first) {
    for (std::size_t i = 0; i < kHosts.size(); ++i) {
      const auto own = rig().peer(kHosts[i]).address;
      auto data = pair_of(own, rig().peer(kHosts[(i + 1) % 4]).address, first);
      auto credits = pair_of(own, rig().peer(kHosts[(i + 3) % 4]).address, first + 1000);
      credits.role = steer::Role::answers;
      tell(kHosts[i], {generation, {data, credits}});
    }
  }
  /// With `more` at the end of each command line. Each is told its rank, as launchers do.
  std::vector<std::future<Answer>> start(const char* messages, const char* bytes,
                                         const std::vector<std::string>& more = {}, bool with_weft = true) {
    std::vector<std::future<Answer>> processes;
    for (std::size_t i = 0; i < kHosts.size(); ++i) {
      std::vector<std::string> words = with_weft ? kWithWeft : std::vector<std::string>{"env"};
      words.push_back(fmt::format("RANK={}", i));
      words.insert(words.end(),
                   {"ring_client", "rxe_p1", "1", "7000", to_string(rig().peer(kHosts[(i + 1) % 4]).address),
                    "7000", std::to_string(kRing), messages, bytes, "2000"});
      words.insert(words.end(), more.begin(), more.end());
      processes.push_back(
          std::async(std::launch::async, [this, i, words] { return rig().in(kHosts[i], words, kMaxJob); }));
    }
    return processes;
  }
  static void end(std::vector<std::future<Answer>>& processes) {
    for (auto& process : processes) {
      const Answer answer = process.get();
      EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
    }
  }
  /// At once: a program in a guest takes a second to start.
  template <class Nodes, class Do>
  static void on_all(const Nodes& nodes, Do act) {
    std::vector<std::future<void>> under_way;
    for (const char* node : nodes)
      under_way.push_back(std::async(std::launch::async, [&, node] { act(node); }));
    for (auto& one : under_way) one.get();
  }
  /// Each process sends no more, takes what is under way and compares it.
  void stop(std::vector<std::future<Answer>>& processes) {
    on_all(kHosts, [&](const char* host) { rig().in(host, {"killall", "-TERM", "ring_client"}); });
    end(processes);
  }
  Json qps_of(const std::string& host) {
    // A guest's kernel writes to the console that answers come by.
    for (int tries = 0; tries < 3; ++tries) {
      const auto answer = rig().in(host, {"weft", "nccl", "qps", "/tmp/job", "-o", "json"});
      EXPECT_EQ(answer.status, 0) << answer.errors;
      if (auto document = Json::parse(answer.output, nullptr, false); document.is_object()) return document;
    }
    ADD_FAILURE() << host << ": no document";
    return Json{{"processes", Json::array()}};
  }
  /// Queue pairs of `host` that have not their label of this list.
  std::size_t not_moved(const char* host, std::uint64_t list) {
    std::size_t count = 0;
    Json document = qps_of(host);
    for (auto& process : document["processes"]) {
      if (process["qps"].empty()) ++count;  // it has not connected yet
      for (auto& qp : process["qps"]) {
        const std::string move = qp.value("move", "");
        const bool stays = move.starts_with("stays") || move == "moving";
        if (process["list"] != list || qp["label_by"] != "weft" || stays) ++count;
      }
    }
    return document["processes"].empty() ? kRing : count;
  }
  testing::AssertionResult all_move(const std::vector<const char*>& hosts, std::uint64_t list,
                                    seconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    std::atomic<std::size_t> left = 1;
    while (left > 0 && std::chrono::steady_clock::now() < until) {
      left = 0;
      on_all(hosts, [&](const char* host) { left += not_moved(host, list); });
    }
    if (left == 0) return testing::AssertionSuccess();
    std::string all;
    for (const char* host : hosts) all += qps_of(host).dump(1);
    return testing::AssertionFailure() << left << " queue pairs have not moved: " << all;
  }
  /// Of all that host1 sends, data and credits: queue pairs of its two neighbours may have one number.
  static std::set<std::uint32_t> expected(std::vector<std::uint32_t> firsts) {
    std::set<std::uint32_t> all;
    for (const auto first : firsts)
      for (const std::uint32_t list : {0u, 1000u})
        for (std::uint32_t i = 0; i < kRing; ++i) all.insert(first + list + 10 * i);
    return all;
  }
  static std::set<std::uint32_t> seen(const PortsByQp& ports) {
    std::set<std::uint32_t> all;
    for (const auto& used : ports_in_order(ports)) all.insert(used.begin(), used.end());
    return all;
  }
};

}  // namespace weft
