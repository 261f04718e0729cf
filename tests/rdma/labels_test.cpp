// Programs that know nothing of weft, over soft-RoCE and real packets: libweft-nccl.so before them, every
// queue pair has its label on the wire, in both directions.
#include <gmock/gmock.h>

#include <future>

#include "balancer/steer/label_list.hpp"
#include "tests/places.hpp"
#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

constexpr std::uint32_t kQps = 8;

steer::PairLabels pair_of(const IpAddress& own, const IpAddress& peer, std::uint32_t first) {
  steer::PairLabels pair{steer::gid_of(own), steer::gid_of(peer), std::nullopt, steer::Role::sends, {}};
  for (std::uint32_t i = 0; i < kQps; ++i) pair.labels.emplace_back(first + 10 * i);
  return pair;
}

/// The source ports of each destination's queue pair, in the order in which these were made.
std::vector<std::vector<std::uint32_t>> in_order(const PortsByQp& ports) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& [qp, used] : ports) {
    all.emplace_back();
    for (const UdpPort port : used) all.back().push_back(port.value());
  }
  return all;
}

std::vector<std::vector<std::uint32_t>> labels_from(std::uint32_t first) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t i = 0; i < kQps; ++i) all.push_back({first + 10 * i});
  return all;
}

class JobsOfOthers : public QueuePairs {
 protected:
  /// As `weft nccl steer` does it on each host.
  void tell(const std::string& host, const steer::LabelList& list) {
    const auto bytes = steer::encode_labels(list).value();
    std::string words = "mkdir -p /tmp/job && chmod 700 /tmp/job && printf '";
    for (const std::byte byte : bytes) words += fmt::format("\\{:03o}", std::to_integer<unsigned>(byte));
    words += "' > /tmp/job/new && chmod 600 /tmp/job/new && mv /tmp/job/new /tmp/job/labels";
    ASSERT_EQ(rig().in(host, {"sh", "-c", words}).status, 0);
  }
  /// ib_write_bw between host1 and host3, both ways at once, while packets of `host` are captured.
  PortsByQp write_between(const std::string& host, const std::vector<std::string>& more, bool with_weft) {
    std::vector<std::string> words{"env"};
    if (with_weft) words.insert(words.end(), {"WEFT_NCCL_DIR=/tmp/job", "LD_PRELOAD=/lib/libweft-nccl.so"});
    words.insert(words.end(), {"ib_write_bw", "-d", "rxe_p1", "-x", "1", "-q", std::to_string(kQps), "-s",
                               "1024", "-n", "40", "-t", "8", "-b", "-F"});
    words.insert(words.end(), more.begin(), more.end());
    return rig().ports_used(host, [&] {
      auto server = std::async(std::launch::async, [&] { return rig().in("host3", words); });
      auto client_words = words;
      client_words.push_back(to_string(rig().peer("host3").address));
      Answer client;
      for (int turn = 0; turn < 20 && client.status != 0; ++turn) {
        std::this_thread::sleep_for(seconds(1));
        client = rig().in("host1", client_words);
      }
      EXPECT_EQ(client.status, 0) << client.output << client.errors;
      const Answer served = server.get();
      EXPECT_EQ(served.status, 0) << served.output << served.errors;
    });
  }
  void tell_both() {
    const auto one = rig().peer("host1").address;
    const auto three = rig().peer("host3").address;
    tell("host1", {1, {pair_of(one, three, 50'000)}});
    tell("host3", {1, {pair_of(three, one, 60'000)}});
  }
};

TEST_F(JobsOfOthers, UnmodifiedIbWriteBwHasItsLabelsByBothWaysOfPostingInBothDirections) {
  tell_both();
  EXPECT_EQ(in_order(write_between("host1", {}, true)), labels_from(50'000)) << "posts by ibv_wr_*";
  EXPECT_EQ(in_order(write_between("host3", {}, true)), labels_from(60'000));
  EXPECT_EQ(in_order(write_between("host1", {"--use_old_post_send"}, true)), labels_from(50'000));
  EXPECT_EQ(in_order(write_between("host3", {"--use_old_post_send"}, true)), labels_from(60'000));
}

TEST_F(JobsOfOthers, UnderTheLibraryWithoutLabelsPortsAreThoseOfTheDevice) {
  rig().in("host1", {"rm", "-rf", "/tmp/job"});
  rig().in("host3", {"rm", "-rf", "/tmp/job"});
  const auto plain = in_order(write_between("host1", {}, false));
  const auto with = in_order(write_between("host1", {}, true));
  ASSERT_EQ(plain.size(), kQps);
  ASSERT_EQ(with.size(), kQps);
  for (const auto& ports : with) EXPECT_EQ(ports.size(), 1u);
  EXPECT_NE(with, labels_from(50'000));
}

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
  std::vector<std::future<Answer>> start(const char* messages, const char* bytes) {
    std::vector<std::future<Answer>> processes;
    for (std::size_t i = 0; i < kHosts.size(); ++i)
      processes.push_back(std::async(std::launch::async, [=, this] {
        return rig().in(kHosts[i],
                        {"env", "WEFT_NCCL_DIR=/tmp/job", "LD_PRELOAD=/lib/libweft-nccl.so", "ring_client",
                         "rxe_p1", "1", "7000", to_string(rig().peer(kHosts[(i + 1) % 4]).address), "7000",
                         std::to_string(kRing), messages, bytes, "2000"});
      }));
    return processes;
  }
  static void end(std::vector<std::future<Answer>>& processes) {
    for (auto& process : processes) {
      const Answer answer = process.get();
      EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
    }
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
    for (const auto& used : in_order(ports)) all.insert(used.begin(), used.end());
    return all;
  }
};

TEST_F(Ring, CarriesExactlyTheAssignedPortsForDataAndCredits) {
  tell_all(1, 50'000);
  const auto ports = rig().ports_used("host1", [&] {
    auto processes = start("100", "4096");
    end(processes);
  });
  EXPECT_EQ(seen(ports), expected({50'000}));
}

TEST_F(Ring, MovesToAnotherListUnderLoadAndEveryMessageIsRight) {
  tell_all(1, 50'000);
  const auto ports = rig().ports_used("host1", [&] {
    auto processes = start("1500", "4096");
    std::this_thread::sleep_for(seconds(5));
    tell_all(2, 55'000);
    end(processes);
  });
  EXPECT_EQ(seen(ports), expected({50'000, 55'000}));
}

}  // namespace
}  // namespace weft
