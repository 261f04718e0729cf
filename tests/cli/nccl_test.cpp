// `weft nccl qps` and `steer`: the queue pairs of a job as they are told, and labels for them.
#include "cli/nccl.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "balancer/steer/process_qps.hpp"
#include "cli/blacklist.hpp"
#include "cli/exit_status.hpp"
#include "collectors/nccl/qp_table.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/left_process.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

steer::ProcessQps sample() {
  steer::QpRecord qp{.own = steer::gid_of(IpAddress(IpAddress::V4{10, 0, 0, 1})),
                     .peer = steer::gid_of(IpAddress(IpAddress::V4{10, 0, 0, 2})),
                     .number = QpNum(17),
                     .peer_number = QpNum(18),
                     .label = PathLabel(50'000),
                     .source = steer::LabelSource::weft,
                     .move = steer::Move::done,
                     .bytes = 5'000'000,
                     .under_way = 3,
                     .stalled = std::chrono::seconds(4),
                     .moves = 2,
                     .timeout = 20,
                     .device = "mlx5_0"};
  return {.pid = 4711,
          .rank = 3,
          .generation = 9,
          .written = os::wall_now(),
          .host = "gpu3",
          .program = "train",
          .qps = {qp}};
}

struct JobDirectory {
  std::string put(const steer::ProcessQps& process, std::size_t cut = 0) const {
    const auto bytes = steer::encode_qps(process);
    const auto path = scratch.path() / (std::to_string(process.pid) + ".qps");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size() - cut));
    return path.string();
  }
  Outcome qps(Arguments words = {}) const {
    words.insert(words.begin(), scratch.path().string());
    return call(nccl_qps_command, words);
  }
  os::ScratchDirectory scratch = os::ScratchDirectory::make().value();
};

TEST(NcclQps, ShowsEachProcessOfTheDirectory) {
  const JobDirectory job;
  job.put(sample());
  const auto said = job.qps();
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("process 4711, train, rank 3, on gpu3: labels of list 9\n"));
  for (const char* part : {"mlx5_0/17", "10.0.0.2/18", "50000", "weft", "5 MB", "stalled for 4 s, moved,"})
    EXPECT_THAT(said.out, HasSubstr(part));
}

TEST(NcclQps, SaysHowLongAProcessHasToldNothing) {
  const JobDirectory job;
  auto process = sample();
  process.written -= std::chrono::minutes(5);
  process.note = "labels: half written";
  job.put(process);
  const auto said = job.qps();
  EXPECT_THAT(said.out, HasSubstr("it has told nothing for"));
  EXPECT_THAT(said.out, HasSubstr("\n  labels: half written\n"));
}

TEST(NcclQps, PrintsADocument) {
  const JobDirectory job;
  const auto path = job.put(sample());
  const auto said = call(nccl_qps_command, {path, "-o", "json"});
  expect_matches_schema(said.out, "qps");
  EXPECT_EQ(nlohmann::json::parse(said.out)["processes"][0]["qps"][0]["label"], 50'000);
  const auto tables = nccl::parse_qp_tables(said.out, "qps.json");
  ASSERT_TRUE(tables) << tables.error().message;
  ASSERT_EQ(tables->size(), 1u);
  const auto& table = tables->front();
  EXPECT_EQ(table.host, "gpu3");
  ASSERT_EQ(table.qps.size(), 1u);
  EXPECT_EQ(table.qps[0].pid, 4711u);
  EXPECT_EQ(table.qps[0].rank, 3u);
  EXPECT_EQ(to_string(*table.qps[0].gid), "10.0.0.1");
  EXPECT_EQ(table.qps[0].outstanding, 3u);
  EXPECT_EQ(table.qps[0].oldest, std::chrono::seconds(4));
  EXPECT_EQ(table.qps[0].timeout, 20u);
}

TEST(NcclQps, ShowsThePathOfEachLabelWhereAMapTellsIt) {
  const ScratchFile fabric(
      "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\naddresses: {ports: {host1: 10.0.0.1, "
      "host2: 10.0.0.2}}\n");
  const auto made = files::read_fabric_file(fabric.path()).value().fabric;
  PathMap map;
  const auto path_by = [&](const char* spine) {
    std::vector<ChannelId> channels;
    for (const auto& name : {std::string("host1->leaf1"), fmt::format("leaf1->{}", spine),
                             fmt::format("{}->leaf2", spine), std::string("leaf2->host2")})
      channels.push_back(made.find_channel(name).value());
    return map.table.intern(channels);
  };
  map.pairs.push_back({.src = *made.find_nic("host1"),
                       .dst = *made.find_nic("host2"),
                       .paths = {{.path = path_by("spine1"), .labels = {PathLabel(49'999)}},
                                 {.path = path_by("spine2"), .labels = {PathLabel(50'000)}}}});
  const ScratchFile paths(files::path_map_json(made, map, {.tool_version = "test"}));
  const JobDirectory job;
  job.put(sample());
  const Arguments where{"--fabric", fabric.path(), "--paths", paths.path()};
  EXPECT_THAT(job.qps(where).out, HasSubstr("leaf1 spine2 leaf2"));
  auto more = where;
  more.insert(more.end(), {"-o", "json"});
  const auto said = job.qps(more);
  expect_matches_schema(said.out, "qps");
  EXPECT_EQ(nlohmann::json::parse(said.out)["processes"][0]["qps"][0]["path"].dump(),
            R"(["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host2"])");
  EXPECT_THAT(job.qps().out, Not(HasSubstr("PATH")));
  EXPECT_EQ(job.qps({"--paths", paths.path()}).status, kExitUsage);
}

TEST(NcclQps, ShowsOneJobsProcessesAlone) {
  const JobDirectory job;
  auto one = sample(), other = sample();
  one.job = "77";
  other.job = std::string(100, 'j');
  other.pid = 4712;
  job.put(one);
  job.put(other);
  EXPECT_THAT(job.qps().out, AllOf(HasSubstr("of job 77"), HasSubstr("process 4712")));
  EXPECT_THAT(job.qps({"--job", "77"}).out, Not(HasSubstr("process 4712")));
  const auto said = job.qps({"--job", other.job, "-o", "json"});
  expect_matches_schema(said.out, "qps");
  const auto processes = nlohmann::json::parse(said.out)["processes"];
  ASSERT_EQ(processes.size(), 1u) << said.out;
  EXPECT_EQ(processes[0]["pid"], 4712);
  EXPECT_EQ(job.qps({"--job", "79"}).status, 0);
  EXPECT_THAT(job.qps({"--job", "79"}).out, HasSubstr("no process of job 79 tells of its queue pairs in "));
}

TEST(NcclQps, ShowsLastWhatKilledProcessesToldTheLatestFirstAndOfManyAFew) {
  const JobDirectory job;
  constexpr unsigned kLeft = 100;
  for (unsigned pid = 1; pid <= kLeft; ++pid) {
    auto process = sample();
    process.pid = pid;
    std::filesystem::last_write_time(
        leave_file(job.scratch.path(), process),
        std::filesystem::file_time_type::clock::now() - std::chrono::minutes(pid));
  }
  job.put(sample());
  const auto said = job.qps({"-o", "json"});
  EXPECT_EQ(said.status, 0) << said.err;
  expect_matches_schema(said.out, "qps");
  const auto processes = nlohmann::json::parse(said.out)["processes"];
  ASSERT_EQ(processes.size(), 65u);
  EXPECT_EQ(processes[0]["pid"], 4711);
  EXPECT_FALSE(processes[0].contains("ended"));
  EXPECT_EQ(processes[1]["pid"], 1);
  EXPECT_EQ(processes[1]["ended"], true);
  EXPECT_THAT(said.err, HasSubstr("36 older files of ended processes are not read"));
  const auto tables = nccl::parse_qp_tables(said.out, "qps.json").value();
  EXPECT_FALSE(tables[0].has_ended);
  EXPECT_TRUE(tables[1].has_ended);
}

TEST(NcclQps, AProcessThatWasKilledWhileItWroteIsNoError) {
  const JobDirectory job;
  std::filesystem::resize_file(leave_file(job.scratch.path(), sample()), 513);
  const auto said = job.qps();
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(unwrapped(said.err), AllOf(HasSubstr("cut short"), HasSubstr("its process has ended")));
}

TEST(NcclQps, ShowsTheOthersWhereOneFileIsBroken) {
  const JobDirectory job;
  job.put(sample());
  auto other = sample();
  other.pid = 4712;
  job.put(other, 100);
  std::ofstream(job.scratch.path() / "labels") << "not a process";
  const auto said = job.qps();
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_THAT(said.err, HasSubstr("4712.qps: cut short"));
  EXPECT_THAT(said.out, HasSubstr("process 4711"));
}

TEST(NcclQps, SaysWhatIsNotThere) {
  const JobDirectory job;
  EXPECT_THAT(job.qps().out, HasSubstr("no process of a job tells of its queue pairs in "));
  EXPECT_EQ(call(nccl_qps_command, {"/no/such"}).status, kExitUsage);
  EXPECT_EQ(call(nccl_qps_command, {"/dev/zero"}).status, kExitUsage);
}

constexpr const char* kFabric = "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n";

/// Of queue pairs 0 and 1 from host1 to host2, with these labels there and 50,000 back.
std::string assignment(std::string_view first, std::string_view second) {
  const auto qp = [](int number, std::string_view label) {
    return fmt::format(
        R"({{"src":"host1","dst":"host2","qp":{},"bytes":5,"label":{},"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host2"],"reverse":{{"src":"host2","label":50000,"path":["host2->leaf2","leaf2->spine1","spine1->leaf1","leaf1->host1"]}}}})",
        number, label);
  };
  return fmt::format(R"({{"schema":"weft.assignment/1","assignments":[{},{}]}})", qp(0, first),
                     qp(1, second));
}

Outcome steer_with(const JobDirectory& job, const std::string& text, const char* fabric = kFabric,
                   const Arguments& more = {}) {
  const auto folder = job.scratch.path();
  std::ofstream(folder / "now.json") << text;
  std::ofstream(folder / "fabric.yaml") << fabric;
  Arguments words{(folder / "now.json").string(), "--fabric", (folder / "fabric.yaml").string(), "--dir",
                  (folder / "job").string()};
  words.insert(words.end(), more.begin(), more.end());
  return call(nccl_steer_command, words);
}

steer::LabelList list_in(const JobDirectory& job, const std::string& of = "") {
  std::ifstream file(job.scratch.path() / "job" / steer::labels_file(of), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return steer::decode_labels(std::as_bytes(std::span(bytes))).value();
}

TEST(NcclSteer, WritesTheListsOfWhoSendsAndOfWhoAnswers) {
  const JobDirectory job;
  const auto said = steer_with(job, assignment("49152", "49153"));
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("2 pairs of NICs have their labels in "));
  const auto list = list_in(job);
  ASSERT_EQ(list.pairs.size(), 2u);
  EXPECT_EQ(list.pairs[0].role, steer::Role::sends);
  EXPECT_EQ(list.pairs[0].labels, (std::vector{PathLabel(49'152), PathLabel(49'153)}));
  EXPECT_EQ(list.pairs[1].role, steer::Role::answers);
  EXPECT_EQ(list.pairs[1].own, list.pairs[0].peer);
  EXPECT_EQ(list.pairs[1].labels, (std::vector{PathLabel(50'000), PathLabel(50'000)}));
}

TEST(NcclSteer, NumbersAListAboveAllThatAreThereOrInForce) {
  const JobDirectory job;
  EXPECT_EQ(steer_with(job, assignment("49152", "49153")).status, 0);
  const auto first = list_in(job).generation;
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(steer_with(job, assignment("49152", "49153")).status, 0);
  EXPECT_EQ(list_in(job).generation, 2u);
  auto process = sample();
  process.generation = 40;
  std::filesystem::rename(job.put(process), job.scratch.path() / "job/a.qps");
  EXPECT_EQ(steer_with(job, assignment("49152", "49153")).status, 0);
  EXPECT_EQ(list_in(job).generation, 41u);
  // A process claims what no list has.
  process.generation = ~0ull;
  std::filesystem::rename(job.put(process), job.scratch.path() / "job/a.qps");
  EXPECT_EQ(steer_with(job, assignment("49152", "49153")).status, 0);
  EXPECT_EQ(list_in(job).generation, 42u);
  auto last = list_in(job);
  last.generation = ~0ull;
  const auto bytes = steer::encode_labels(last).value();
  std::ofstream(job.scratch.path() / "job/labels", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_THAT(steer_with(job, assignment("49152", "49153")).err, HasSubstr("none can be above it"));
}

TEST(NcclSteer, RemovesWhatKilledProcessesHaveLeftHoweverMany) {
  const JobDirectory job;
  const auto place = job.scratch.path() / "job";
  std::filesystem::create_directory(place);
  auto process = sample();
  for (process.pid = 1; process.pid <= 1100; ++process.pid) leave_file(place, process);
  const auto said = steer_with(job, assignment("49152", "49153"));
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(list_in(job).generation, 1u) << "what a dead process had in force does not count";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place), {}), 1);
}

TEST(NcclSteer, TellsAsADocumentWhatItWrote) {
  const JobDirectory job;
  const auto said = steer_with(job, assignment("49152", "49153"), kFabric, {"--job", "77", "-o", "json"});
  EXPECT_EQ(said.status, 0) << said.err;
  expect_matches_schema(said.out, "steered");
  const auto told = nlohmann::json::parse(said.out);
  EXPECT_EQ(told["job"], "77");
  EXPECT_EQ(told["list"], 1);
  EXPECT_EQ(told["pairs"], 2);
}

TEST(NcclSteer, IsForTheJobThatItRunsWithin) {
  const JobDirectory job;
  ASSERT_EQ(setenv("WEFT_NCCL_JOB", "77", 1), 0);
  const auto said = steer_with(job, assignment("49152", "49153"));
  unsetenv("WEFT_NCCL_JOB");
  EXPECT_THAT(said.out, HasSubstr("list 1, of job 77\n"));
  EXPECT_EQ(list_in(job, "77").job, "77");
  // Beside it there may be one of any job: both are numbered in one row.
  EXPECT_THAT(steer_with(job, assignment("49152", "49153")).out, HasSubstr("list 2\n"));
  EXPECT_EQ(list_in(job, "77").generation, 1u);
}

TEST(NcclSteer, LeavesPairsAloneOfWhichAQueuePairHasNoLabel) {
  const JobDirectory job;
  const auto said = steer_with(job, assignment("49152", "null"));
  EXPECT_THAT(said.err, HasSubstr("1 pairs of NICs are left to the device"));
  EXPECT_THAT(said.out, HasSubstr("1 pairs of NICs have their labels"));
}

TEST(NcclSteer, RefusesLabelsThatNoFlowLabelGivesAndWhatIsNoAssignment) {
  const JobDirectory job;
  EXPECT_THAT(steer_with(job, assignment("80", "49152")).err, HasSubstr("80 is no UDP source port"));
  EXPECT_EQ(steer_with(job, "{}").status, kExitUsage);
  EXPECT_EQ(call(nccl_steer_command, {}).status, kExitUsage);
}

/// One queue pair from host1 to host2 over spine1, and a map with a label of each spine.
struct TwoSpines {
  static constexpr const char* kFabric = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n";
  JobDirectory job;
  Outcome steer(const std::string& blacklist) const {
    const auto folder = job.scratch.path();
    std::ofstream(folder / "blacklist") << blacklist;
    const auto path = [](const char* from, const char* to, int spine) {
      const auto leaf = [](const char* host) {
        return std::string_view(host) == "host1" ? "leaf1" : "leaf2";
      };
      return fmt::format(R"(["{0}->{2}","{2}->spine{4}","spine{4}->{3}","{3}->{1}"])", from, to, leaf(from),
                         leaf(to), spine);
    };
    const auto pair = [&](const char* from, const char* to) {
      return fmt::format(
          R"({{"src":"{0}","dst":"{1}","paths":[{{"path":{2},"labels":[50001]}},{{"path":{3},"labels":[50002]}}]}})",
          from, to, path(from, to, 1), path(from, to, 2));
    };
    std::ofstream(folder / "map.json")
        << fmt::format(R"({{"schema":"weft.pathmap/1","fabric":"a","pairs":[{},{}]}})",
                       pair("host1", "host2"), pair("host2", "host1"));
    const auto now = fmt::format(
        R"({{"schema":"weft.assignment/1","assignments":[{{"src":"host1","dst":"host2","qp":0,"bytes":5,"label":50001,"path":{},"reverse":{{"src":"host2","label":50001,"path":{}}}}}]}})",
        path("host1", "host2", 1), path("host2", "host1", 1));
    return steer_with(
        job, now, kFabric,
        {"--blacklist", (folder / "blacklist").string(), "--paths", (folder / "map.json").string()});
  }
};

TEST(NcclSteer, QueuePairsOverABlacklistedLinkTakeAnotherPathThereAndBack) {
  const TwoSpines site;
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const auto entry = [&](const char* name) {
    const auto& link = fabric.link(fabric.find_link(name).value());
    const auto end = [&](PortId port) {
      return fmt::format(R"({{"node":"{}","port":{}}})", fabric.name_of(fabric.port(port).node),
                         fabric.port(port).number.value());
    };
    return fmt::format(
        R"({{"schema":"weft.blacklist/1","id":"a:{}","fabric":"a","layer":"roce","a":{},"b":{},)"
        R"("class":"switch-switch","verdict":"failed","confidence":1,"evidence":[],)"
        R"("first_seen":"2026-01-31T12:00:00Z","last_seen":"2026-01-31T12:00:00Z",)"
        R"("expires":"2999-01-01T00:00:00Z","owner":"weft","actions":[]}})"
        "\n",
        name, end(link.a), end(link.b));
  };
  const auto other = site.steer(entry("leaf1--spine2"));
  EXPECT_EQ(other.status, 0) << other.err;
  for (const auto& pair : list_in(site.job).pairs) EXPECT_EQ(pair.labels, std::vector{PathLabel(50'001)});
  const auto said = site.steer(entry("leaf1--spine1"));
  EXPECT_EQ(said.status, 0) << said.err;
  ASSERT_EQ(list_in(site.job).pairs.size(), 2u);
  for (const auto& pair : list_in(site.job).pairs) EXPECT_EQ(pair.labels, std::vector{PathLabel(50'002)});
  const auto none = site.steer(entry("leaf1--spine1") + entry("leaf2--spine2"));
  EXPECT_EQ(none.status, kExitUsage);
  EXPECT_THAT(none.err, HasSubstr("nothing is changed"));
}

/// `weft nccl steer --follow` over these, until the object ends.
class FollowedLedger {
 public:
  explicit FollowedLedger(const TwoSpines& site) : site_(site) {
    site.steer("");  // for its files
    const auto folder = site.job.scratch.path();
    std::filesystem::remove(folder / "job/labels");
    // Of two uplinks a ledger takes none out of use.
    std::ofstream(folder / "fabric.yaml") << "fabric: a\nclos: {leaves: 2, spines: 8, hosts_per_leaf: 1}\n";
    change({"add", "leaf1--spine2"});
    auto started = os::ChildProcess::start(
        {.argv = {WEFT_BINARY_DIR "/weft", "nccl", "steer", (folder / "now.json").string(), "--fabric",
                  (folder / "fabric.yaml").string(), "--paths", (folder / "map.json").string(), "--dir",
                  (folder / "job").string(), "--follow", ledger(), "--every", "100ms"},
         .output = os::ToNothing{},
         .errors = os::ToFile{folder / "errors"}});
    child_ = std::move(started.value());
  }
  void change(Arguments words) {
    const bool is_new = words[0] == "add";
    if (is_new) words.insert(words.end(), {"--for", "4h", "--reason", "optics"});
    words.insert(words.end(),
                 {"--ledger", ledger(), "--fabric", (site_.job.scratch.path() / "fabric.yaml").string()});
    const auto said = call(is_new ? blacklist_add_command : blacklist_release_command,
                           Arguments(words.begin() + 1, words.end()));
    EXPECT_EQ(said.status, 0) << said.err;
  }
  /// Within 20 s.
  bool comes(std::uint32_t label) const {
    for (int turn = 0; turn < 400; ++turn, std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (!std::filesystem::exists(site_.job.scratch.path() / "job/labels")) continue;
      const auto pairs = list_in(site_.job).pairs;
      if (pairs.size() == 2 && pairs[0].labels == std::vector{PathLabel(label)} &&
          pairs[1].labels == pairs[0].labels)
        return true;
    }
    return false;
  }
  std::string errors() const {
    std::ifstream file(site_.job.scratch.path() / "errors");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  os::ChildProcess& child() { return *child_; }

 private:
  std::string ledger() const { return (site_.job.scratch.path() / "bl.db").string(); }
  const TwoSpines& site_;
  std::optional<os::ChildProcess> child_;
};

TEST(NcclSteer, FollowsALedgerAndMovesQueuePairsOnEachChange) {
  const TwoSpines site;
  FollowedLedger followed(site);
  EXPECT_TRUE(followed.comes(50'001)) << followed.errors();
  followed.change({"release", "1"});
  followed.change({"add", "leaf1--spine1"});
  EXPECT_TRUE(followed.comes(50'002)) << followed.errors();
  const auto list = list_in(site.job).generation;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(list_in(site.job).generation, list) << "nothing changed, and labels were given anew";
  followed.change({"release", "2"});
  EXPECT_TRUE(followed.comes(50'001)) << "it is lifted: they move back";
  EXPECT_TRUE(followed.child().send_signal(SIGINT));
  const auto ended = followed.child().wait_for(std::chrono::seconds(20));
  ASSERT_TRUE(ended && *ended) << "Ctrl-C does not end it";
  EXPECT_EQ((*ended)->code, 0) << followed.errors();
}

TEST(NcclSteer, OfInfiniBandItGivesLidsToPortsKnownByTheirGuids) {
  constexpr const char* kSubnet = R"(fabric: ib
kind: infiniband
nodes:
  - {name: host1, kind: host, port_guids: {1: 0x0002c90300000011}}
  - {name: host2, kind: host, port_guids: {1: 0x0002c90300000022}}
  - {name: leaf1, kind: switch, tier: leaf}
links:
  - {a: host1/p1, b: leaf1/p1}
  - {a: host2/p1, b: leaf1/p2}
)";
  constexpr const char* kNow =
      R"({"schema":"weft.assignment/1","assignments":[{"src":"host1","dst":"host2","qp":0,"bytes":5,"label":10,"path":["host1->leaf1","leaf1->host2"]}]})";
  const JobDirectory job;
  EXPECT_THAT(steer_with(job, kNow, kSubnet).err, HasSubstr("--paths MAP is missing"));
  const auto map = job.scratch.path() / "map.json";
  std::ofstream(map) << R"({"schema":"weft.pathmap/1","fabric":"ib","pairs":[{"src":"host1","dst":"host2",)"
                     << R"("paths":[{"path":["host1->leaf1","leaf1->host2"],"labels":[8,9,10,11]}]}]})";
  const auto said = steer_with(job, kNow, kSubnet, {"--paths", map.string()});
  EXPECT_EQ(said.status, 0) << said.err;
  const auto list = list_in(job);
  ASSERT_EQ(list.pairs.size(), 1u);
  EXPECT_EQ(list.pairs[0].peer_lids, (LidRange{Lid(8), 2}));
  EXPECT_EQ(list.pairs[0].labels, std::vector{PathLabel(10)});
  EXPECT_EQ(steer::gid_text(list.pairs[0].own), "fe80::2:c903:0:11");
}

TEST(NcclSteer, ABlacklistOrALedgerNeedsTheMapByWhoseLabelsLinksAreAvoided) {
  const JobDirectory job;
  const auto said = steer_with(job, assignment("49152", "49153"), kFabric, {"--blacklist", "b"});
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_THAT(said.err, HasSubstr("it needs --paths MAP"));
  const auto refused = [&](const Arguments& more) {
    return steer_with(job, assignment("49152", "49153"), kFabric, more).status == kExitUsage;
  };
  EXPECT_TRUE(refused({"--follow", "bl.db"}));
  EXPECT_TRUE(refused({"--follow", "bl.db", "--paths", "m", "--blacklist", "b"}));
  EXPECT_TRUE(refused({"--follow", "bl.db", "--paths", "m", "--every", "1ms"}));
}

}  // namespace
}  // namespace weft::cli
