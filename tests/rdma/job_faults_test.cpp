// Links that fail under programs that know nothing of weft, over soft-RoCE and the kernel's ECMP: their queue
// pairs move away and no message is lost; and of a ring that hangs `weft nccl hang` names the link, or the
// process that was stopped.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/rdma/jobs_of_others.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::IsEmpty;

constexpr const char* kLink = "leaf1--spine2";
constexpr std::uint32_t kSpines = 4;

class JobFaults : public Ring {
 protected:
  void SetUp() override {
    Ring::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && map_ == nullptr) map_ = new PathMap(trace_pairs());
  }
  void TearDown() override {
    if (rig_ == nullptr || IsSkipped()) return;
    EXPECT_EQ(rig().weft({"lab", "heal", "--name", rig().name()}).status, 0);
    on_all(kFarLeaves, [&](const char* leaf) { rig().in(leaf, {"ip", "nexthop", "del", "id", "9000"}); });
    on_all(kHosts, [&](const char* host) {
      rig().in(host, {"sh", "-c", "killall -9 ring_client ib_write_bw; rm -rf /tmp/job"});
    });
  }
  static void TearDownTestSuite() {
    delete map_;
    Ring::TearDownTestSuite();
  }

  /// The paths of all labels that a trace tried, between neighbours of the ring, both ways.
  PathMap trace_pairs() {
    PathMap all;
    for (std::size_t i = 0; i < kHosts.size(); ++i)
      for (const std::size_t step : {1u, 3u}) {
        const std::vector<std::string> words{"trace",    kHosts[i], kHosts[(i + step) % 4],
                                             "--labels", "48",      "--lab=" + rig().name(),
                                             "-o",       "json"};
        auto answer = rig().weft(words);
        // On a busy machine an agent in a guest may come too late; that is not what is tested here.
        for (int turn = 0; turn < 3 && answer.status != 0; ++turn) answer = rig().weft(words);
        EXPECT_EQ(answer.status, 0) << answer.errors;
        const auto one = files::parse_path_map(rig().lab().fabric(), answer.output, "trace").value();
        for (PairPaths pair : one.pairs) {
          for (LabelledPath& path : pair.paths)
            path.path = all.table.intern(std::vector<ChannelId>(one.table.channels(path.path).begin(),
                                                                one.table.channels(path.path).end()));
          all.pairs.push_back(std::move(pair));
        }
      }
    return all;
  }
  /// Labels of a pair by spine, in the order of spines; of `without` none, but others again.
  std::vector<PathLabel> by_spine(const char* from, const char* to, std::optional<std::uint32_t> without) {
    const Fabric& fabric = rig().lab().fabric();
    std::vector<std::vector<PathLabel>> labels(kSpines);
    for (const PairPaths& pair : map_->pairs) {
      if (pair.src != rig().nic(from) || pair.dst != rig().nic(to)) continue;
      for (const LabelledPath& path : pair.paths)
        for (const ChannelId channel : map_->table.channels(path.path))
          for (std::uint32_t spine = 0; spine < kSpines; ++spine)
            if (fabric.name_of(fabric.target_node(channel)) == fmt::format("spine{}", spine + 1))
              labels[spine].insert(labels[spine].end(), path.labels.begin(), path.labels.end());
    }
    std::vector<PathLabel> chosen;
    for (std::uint32_t i = 0; i < kRing; ++i) {
      const bool is_moved = without && i % kSpines == *without;
      const auto& of = labels[(i + (is_moved ? 1 : 0)) % kSpines];
      EXPECT_GE(of.size(), 2u) << from << " to " << to;
      if (of.size() >= 2) chosen.push_back(is_moved ? of[1] : of[0]);
    }
    return chosen;
  }
  steer::PairLabels labels_between(const char* from, const char* to, steer::Role role,
                                   std::optional<std::uint32_t> without) {
    return {steer::gid_of(rig().peer(from).address), steer::gid_of(rig().peer(to).address), std::nullopt,
            role, by_spine(from, to, without)};
  }
  /// One queue pair a spine, for data and for credits; `without` this spine.
  void steer_ring(std::uint64_t generation, std::optional<std::uint32_t> without = std::nullopt) {
    on_all(kHosts, [&](const char* host) {
      const auto i = static_cast<std::size_t>(std::ranges::find(kHosts, host) - kHosts.begin());
      tell(host, {generation,
                  {labels_between(host, kHosts[(i + 1) % 4], steer::Role::sends, without),
                   labels_between(host, kHosts[(i + 3) % 4], steer::Role::answers, without)}});
    });
  }
  void fault(const std::vector<std::string>& settings) {
    std::vector<std::string> words{"lab", "fault", kLink, "--name", rig().name()};
    words.insert(words.end(), settings.begin(), settings.end());
    const auto answer = rig().weft(words);
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  /// As a routing protocol does some seconds after a link went down: the other leaves send what is for host1
  /// by the spines that still lead there.
  void converge() {
    const Fabric& fabric = rig().lab().fabric();
    const auto address = to_string(rig().peer("host1").address);
    on_all(kFarLeaves, [&](const char* leaf) {
      std::vector<std::string> live;
      for (const PortId port : fabric.ports_of(fabric.find_node(leaf).value())) {
        const auto channel = fabric.channel_from(port);
        if (!channel) continue;
        const auto& to = fabric.name_of(fabric.target_node(*channel));
        if (to.starts_with("spine") && to != "spine2")
          live.push_back(std::to_string(fabric.port(port).number.value()));
      }
      const auto script =
          fmt::format("ip nexthop replace id 9000 group {} && ip route replace {}/32 nhid 9000",
                      fmt::join(live, "/"), address);
      const auto answer = rig().in(leaf, {"sh", "-c", script});
      EXPECT_EQ(answer.status, 0) << answer.errors;
    });
  }
  /// What `weft nccl qps` says on each host, into files of a directory.
  void keep_tables(const fs::path& directory, int turn) {
    on_all(kHosts, [&](const char* host) {
      std::ofstream(directory / fmt::format("{}.{}.json", host, turn)) << qps_of(host).dump();
    });
  }
  /// Both times, some seconds apart; and what `weft nccl hang` makes of them and of the dumps.
  Json explain_hang(const fs::path& dumps, const std::vector<std::string>& more = {}) {
    const fs::path tables = rig().user().directory() / "tables";
    fs::remove_all(tables);
    fs::create_directories(tables);
    keep_tables(tables, 1);
    std::this_thread::sleep_for(seconds(2));
    keep_tables(tables, 2);
    const auto paths = rig().user().directory() / "paths.json";
    std::ofstream(paths) << files::path_map_json(rig().lab().fabric(), *map_, {.tool_version = "test"});
    std::vector<std::string> words{
        "nccl",    "hang", dumps, "--qps", tables, "--fabric", rig().user().fabric_file(),
        "--paths", paths,  "-o",  "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto answer = rig().weft(words);
    said_ = answer.output + answer.errors;
    expect_matches_schema(answer.output, "hang");
    return Json::parse(answer.output, nullptr, false);
  }
  /// All four ranks entered collective 2, and none completed it.
  fs::path dumps_of_waiting_ranks() {
    const fs::path dumps = rig().user().directory() / "dumps";
    fs::create_directories(dumps);
    for (int rank = 0; rank < 4; ++rank) {
      std::string entries;
      for (int i = 1; i <= 2; ++i)
        entries += fmt::format(
            R"({}{{"record_id": {}, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": {},)"
            R"("p2p_seq_id": 0, "op_id": {}, "profiling_name": "nccl:all_reduce", "time_created_ns": {},)"
            R"("input_sizes": [[64]], "input_dtypes": ["Float"], "output_sizes": [[64]],)"
            R"("output_dtypes": ["Float"], "state": "{}", "retired": {}, "timeout_ms": 600000,)"
            R"("is_p2p": false}})",
            i > 1 ? "," : "", i, i, i, 1750000000000000000 + i, i == 1 ? "completed" : "started", i == 1);
      std::ofstream(dumps / fmt::format("nccl_trace_rank_{}.json", rank))
          << fmt::format(R"({{"version": "2.10", "pg_config": {{"0": {{"name": "0", "desc": "default_pg",)"
                         R"("ranks": "[0, 1, 2, 3]"}}}}, "entries": [{}]}})",
                         entries);
    }
    return dumps;
  }

  /// What stands of a host's queue pairs and of its device's counters.
  std::string state_of(const char* host) {
    const auto script =
        "weft nccl qps /tmp/job; sleep 2; weft nccl qps /tmp/job; "
        "grep . /sys/class/infiniband/rxe_p1/ports/1/hw_counters/*; dmesg | tail -20";
    return fmt::format("{}:\n{}\n", host, rig().in(host, {"sh", "-c", script}).output);
  }

  static constexpr std::array<const char*, 3> kFarLeaves{"leaf2", "leaf3", "leaf4"};
  static inline PathMap* map_ = nullptr;
  std::vector<std::future<Answer>> processes_;  // whoever waits for one waits until its program is killed
};

TEST_F(JobFaults, ALinkGoesDownUnderTheRingItsQueuePairsMoveAndNoMessageIsLost) {
  steer_ring(1);
  processes_ = start("0", "4096");
  ASSERT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 1, kMaxWait));
  fault({"--down"});
  // Before routing has seen it: replies to host1 by spine2 vanish, and queue pairs with such cannot move yet.
  steer_ring(2, 1);
  converge();
  EXPECT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 2, kMaxWait));
  stop(processes_);
}

TEST_F(JobFaults, ALinkLosesPacketsUnderTheRingItsQueuePairsMoveAndNoMessageIsLost) {
  steer_ring(1);
  processes_ = start("0", "4096");
  ASSERT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 1, kMaxWait));
  fault({"--loss", "2"});
  std::this_thread::sleep_for(seconds(2));
  steer_ring(2, 1);
  EXPECT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 2, kMaxWait));
  stop(processes_);
}

TEST_F(JobFaults, AChannelThatDropsAllIsNamedAndTheRanksThatWaitAreVictims) {
  steer_ring(1);
  processes_ = start("0", "4096", {"lockstep"});
  ASSERT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 1, kMaxWait));
  std::this_thread::sleep_for(seconds(2));
  fault({"--loss", "100", "--from", "leaf1"});
  std::this_thread::sleep_for(seconds(4));
  Json told = explain_hang(dumps_of_waiting_ranks());
  EXPECT_EQ(told["cause"], "network") << said_;
  ASSERT_EQ(told["links"].size(), 1u) << said_;
  EXPECT_EQ(told["links"][0]["link"], kLink);
  // Data one way and acknowledgements the other stop alike: that it is the other direction must not be said.
  EXPECT_NE(told["links"][0]["from"], "spine2") << said_;
  EXPECT_TRUE(told["ranks"].empty()) << said_;
  // Rank 2 has no queue pair by way of leaf1.
  EXPECT_THAT(told["victims"].get<std::vector<int>>(), Contains(2)) << said_;
}

TEST_F(JobFaults, AStoppedProcessIsNamedAsThatRankAndNoLinkIsBlamed) {
  steer_ring(1);
  processes_ = start("0", "4096", {"lockstep"});
  ASSERT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 1, kMaxWait));
  rig().in("host4", {"sh", "-c", "killall -STOP ring_client"});
  std::this_thread::sleep_for(seconds(4));
  // Dumps and RAS are of a real job of four whose rank 3 was stopped.
  const std::string real = WEFT_SOURCE_DIR "/tests/data/nccl_real/";
  Json told = explain_hang(real + "stopped", {"--ras", real + "ras_stopped.json"});
  EXPECT_EQ(told["cause"], "host") << said_;
  EXPECT_EQ(told["ranks"], Json::parse("[3]")) << said_;
  EXPECT_TRUE(told["links"].empty()) << said_;
  EXPECT_TRUE(told.value("alternatives", Json::array()).empty()) << said_;
  // Neither do the queue pairs alone say that it is the network.
  Json by_qps = explain_hang(dumps_of_waiting_ranks());
  EXPECT_NE(by_qps["cause"], "network") << said_;
}

TEST_F(JobFaults, ALinkLosesPacketsAndGoesDownUnderIbWriteBwAndItsQueuePairsMove) {
  const auto one = rig().peer("host1").address;
  const auto two = rig().peer("host2").address;
  const auto pairs_by = [&](std::uint64_t list, std::optional<std::uint32_t> without) {
    tell("host1", {list,
                   {{steer::gid_of(one), steer::gid_of(two), std::nullopt, steer::Role::sends,
                     by_spine("host1", "host2", without)}}});
    tell("host2", {list,
                   {{steer::gid_of(two), steer::gid_of(one), std::nullopt, steer::Role::sends,
                     by_spine("host2", "host1", without)}}});
  };
  pairs_by(1, std::nullopt);
  // 20,000 messages of each queue pair take 70 s of the link: it must not end before the last list has come.
  auto words = kWithWeft;
  words.insert(words.end(),
               {"ib_write_bw", "-d", "rxe_p1", "-x", "1", "-q", std::to_string(kRing), "-s", "1024", "-n",
                "20000", "-t", "8", "-b", "-F", "-u", "19", "--use_old_post_send"});
  // Whichever is quicker: a client that finds no server gives up, and the server waits for one for ever.
  processes_.push_back(std::async(std::launch::async, [this, words, two]() mutable {
    words.push_back(to_string(two));
    Answer answer;
    for (int turn = 0; turn < 20; ++turn) {
      answer = rig().in("host1", words, kMaxJob);
      if ((answer.output + answer.errors).find("Unable to init the socket connection") == std::string::npos)
        break;
      std::this_thread::sleep_for(seconds(1));
    }
    return answer;
  }));
  processes_.push_back(
      std::async(std::launch::async, [this, words] { return rig().in("host2", words, kMaxJob); }));
  ASSERT_TRUE(all_move({"host1", "host2"}, 1, kMaxWait));
  fault({"--loss", "2"});
  pairs_by(2, 1);
  EXPECT_TRUE(all_move({"host1", "host2"}, 2, kMaxWait));
  rig().weft({"lab", "heal", "--name", rig().name()});
  pairs_by(3, std::nullopt);
  EXPECT_TRUE(all_move({"host1", "host2"}, 3, kMaxWait));
  fault({"--down"});
  pairs_by(4, 1);
  converge();
  EXPECT_TRUE(all_move({"host1", "host2"}, 4, kMaxWait));
  for (auto& process : processes_)
    if (process.wait_for(kMaxJob / 4) != std::future_status::ready)
      return ADD_FAILURE() << "ib_write_bw does not end: " << state_of("host1") << state_of("host2"), void();
  end(processes_);
}

}  // namespace
}  // namespace weft
