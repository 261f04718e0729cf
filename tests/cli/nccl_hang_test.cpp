// `weft nccl hang` as a user calls it, over dumps that Python's pickle wrote (tests/data/nccl).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "balancer/steer/process_qps.hpp"
#include "cli/nccl.hpp"
#include "cli/ras_query.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/hung_job.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kDumps = WEFT_SOURCE_DIR "/tests/data/nccl";

Outcome hang(Arguments words) { return call(nccl_hang_command, words); }

/// Of each connection the replies.
using Talks = std::vector<std::vector<std::string>>;

/// What a server does once it has sent its last reply.
enum class Then { closes, stays, drips };

/// Accepts connections on loopback, one for each list of replies; sends one to each piece that comes. Who
/// drips goes on with a byte every 20 ms. Those that do not close wait for the other end to do so.
class Replies {
 public:
  explicit Replies(Talks all, Then then = Then::closes)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    server_ = std::jthread([this, then, all = std::move(all)] {
      for (const auto& replies : all) serve(replies, then);
    });
  }
  ~Replies() {
    shutdown(listener_, SHUT_RDWR);
    server_.join();
    close(listener_);
  }
  std::string place() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  void serve(const std::vector<std::string>& replies, Then then) const {
    const int peer = accept(listener_, nullptr, nullptr);
    if (peer < 0) return;
    char asked[256];
    for (const std::string& reply : replies)
      if (read(peer, asked, sizeof asked) > 0) send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
    while (then == Then::drips && send(peer, " ", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (then == Then::closes) shutdown(peer, SHUT_WR);
    while (read(peer, asked, sizeof asked) > 0) {
    }
    close(peer);
  }

  int listener_;
  std::uint16_t port_ = 0;
  std::jthread server_;
};

TEST(NcclHang, NamesTheRankThatNeverEnteredInItsFirstLine) {
  const auto told = hang({kDumps});
  EXPECT_EQ(told.status, 2) << told.err;
  EXPECT_THAT(told.out, StartsWith("rank 2 never entered collective 12 of group 0 (default_pg), in which 3"));
  EXPECT_THAT(told.out, HasSubstr("victims, which only wait: ranks 0, 1 and 3"));
  EXPECT_THAT(told.out, HasSubstr("PyTorch's watchdog: after 10 min"));
}

TEST(NcclHang, ItsDocumentFitsTheSchema) {
  const auto json = hang({kDumps, "-o", "json"});
  EXPECT_EQ(json.status, 2);
  expect_matches_schema(json.out, "hang");
  EXPECT_EQ(nlohmann::json::parse(json.out)["cause"], "never_entered");
}

TEST(NcclHang, WrongWordsAreUsageErrors) {
  EXPECT_EQ(hang({}).status, 64);
  EXPECT_EQ(hang({"/nowhere"}).status, 64);
  EXPECT_EQ(hang({kDumps, "--ras", "no/such:file"}).status, 64);
  EXPECT_EQ(hang({kDumps, "--ras-timeout", "1ms"}).status, 64);
  EXPECT_EQ(hang({kDumps, "--paths", "p.json"}).status, 64);
  EXPECT_EQ(hang({kDumps, "--qps", "/nowhere"}).status, 64);
  const auto scratch = os::ScratchDirectory::make();
  const auto empty = hang({scratch->path().string()});
  EXPECT_EQ(empty.status, 64);
  EXPECT_THAT(empty.err, HasSubstr("no files: expected dumps"));
}

TEST(NcclHang, ADumpThatCannotBeReadIsToldAndTheRestIsUsed) {
  const auto scratch = os::ScratchDirectory::make();
  std::filesystem::copy(kDumps, scratch->path(), std::filesystem::copy_options::recursive);
  std::ofstream(scratch->path() / "nccl_trace_rank_1") << "\x80\x02"
                                                       << "cos\nsystem\n.";
  std::ofstream(scratch->path() / "README") << "hello";
  const auto told = hang({scratch->path().string()});
  EXPECT_EQ(told.status, 2);
  EXPECT_THAT(told.out, StartsWith("rank 2 never entered"));
  EXPECT_THAT(told.out, HasSubstr("nccl_trace_rank_1: offset 2: opcode 0x63 'c'"));
  EXPECT_THAT(told.out, HasSubstr("README: no rank"));
}

TEST(NcclHang, RasThatIsAbsentClosesOrTalksNonsenseIsToldAndNothingEnds) {
  const auto absent = hang({kDumps, "--ras", "127.0.0.1:1"});
  EXPECT_EQ(absent.status, 2) << absent.err;
  EXPECT_THAT(absent.out, HasSubstr("Connection refused"));
  const Replies nonsense({{"HTTP/1.1 400 Bad Request\n\x1b[31m\n"}});
  const auto told = hang({kDumps, "--ras", nonsense.place()});
  EXPECT_EQ(told.status, 2);
  EXPECT_THAT(told.out, HasSubstr("RAS"));
  EXPECT_EQ(told.out.find('\x1b'), std::string::npos);
}

TEST(NcclHang, RasThatTakesTheConnectionAndStaysSilentOrEndsHalfWayIsGivenUpInItsTime) {
  using std::chrono::milliseconds;
  const RasLimits limits{.greeting = milliseconds(100), .answer = milliseconds(300)};
  const std::string half = R"({"nccl_version":"2.28.9","communicators_count":1,"communicators":[{"hash":)";
  const Talks servers{{}, {"OK\n"}, {"OK\n", half}, {half}};
  for (const auto& replies : servers)
    for (const Then then : {Then::stays, Then::drips}) {
      const Replies server(Talks(1, replies), then);
      const auto place = find_ras(server.place()).value();
      const auto start = std::chrono::steady_clock::now();
      const auto answer = ask_ras(place, limits);
      const auto took = std::chrono::steady_clock::now() - start;
      ASSERT_FALSE(answer) << *answer;
      EXPECT_EQ(answer.error().kind, ErrorKind::timeout) << answer.error().message;
      EXPECT_GE(took, limits.answer);
      EXPECT_LT(took, std::chrono::seconds(10)) << "of its own limits, not of the server's patience";
    }
}

TEST(NcclHang, AnAnswerOfRasThatEndsHalfWayIsToldAndTheRestIsUsed) {
  const Talks talks{{"OK\n", R"({"nccl_version":"2.28.9","communicators":[{"hash":)"}};
  const Replies half(talks);
  const auto told = hang({kDumps, "--ras", half.place()});
  EXPECT_EQ(told.status, 2) << told.err;
  EXPECT_THAT(told.out, StartsWith("rank 2 never entered"));
  EXPECT_THAT(told.out, HasSubstr("RAS 127.0.0.1:"));
}

/// As a user meets it, who waits longer than the test above: the whole command, by its own limits.
TEST(NcclHang, ACommandWhoseRasHangsEndsByItself) {
  const Replies silent(Talks(1), Then::stays);
  const auto told = hang({kDumps, "--ras", silent.place(), "--ras-timeout", "300ms"});
  EXPECT_EQ(told.status, 2) << told.err;
  EXPECT_THAT(told.out, StartsWith("rank 2 never entered"));
  EXPECT_THAT(told.out, HasSubstr("no answer in time"));
}

TEST(NcclHang, AsksRasOfANameByAChildThatIsBounded) {
  const auto scratch = os::ScratchDirectory::make();
  const auto getent = scratch->path() / "getent";
  const std::string path = std::getenv("PATH");
  const Replies nonsense({{"hello\n"}});
  const auto port = nonsense.place().substr(nonsense.place().find(':'));
  const auto asked = [&](const std::string& script) {
    std::ofstream(getent) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(getent, std::filesystem::perms(0700));
    setenv("PATH", (scratch->path().string() + ":" + path).c_str(), 1);
    auto told = hang({kDumps, "--ras", "gpu1.example" + port});
    setenv("PATH", path.c_str(), 1);
    return told.out;
  };
  EXPECT_THAT(asked("exit 2\n"), HasSubstr("gpu1.example: no address is found"));
  EXPECT_THAT(asked("echo nonsense\n"), HasSubstr("gpu1.example: it has no address"));
  EXPECT_THAT(asked("[ \"$*\" = 'ahosts -- gpu1.example' ] && echo '127.0.0.1  STREAM gpu1'\n"),
              testing::Not(HasSubstr("address")));
}

TEST(NcclHang, ReadsWhatNcclQpsWrites) {
  const HungJob job({.pods = 2, .hosts_per_pod = 2, .rails = 2, .spines = 2, .fault = JobFault::black_hole});
  const auto scratch = os::ScratchDirectory::make();
  const auto dumps = scratch->path() / "dumps";
  std::filesystem::create_directories(dumps);
  for (const auto& dump : job.dumps)
    std::ofstream(dumps / fmt::format("nccl_trace_rank_{}", dump.rank), std::ios::binary) << dump.bytes;
  steer::QpRecord qp{
      .number = QpNum(17), .bytes = 5'000'000, .under_way = 3, .stalled = std::chrono::seconds(9)};
  const steer::ProcessQps process{.pid = 4711, .rank = 1, .host = "gpu1", .qps = {qp}};
  const auto bytes = steer::encode_qps(process);
  std::ofstream(scratch->path() / "a.qps", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const ScratchFile qps(call(nccl_qps_command, {scratch->path().string(), "-o", "json"}).out);
  const auto told = hang({dumps.string(), "--qps", qps.path(), "-o", "json"});
  const auto json = nlohmann::json::parse(told.out);
  EXPECT_EQ(json["cause"], "network") << told.out;
  EXPECT_THAT(told.out, HasSubstr("1 of 1 queue pairs have work under way"));
}

/// Tables of two jobs that share a host.
TEST(NcclHang, AsksWhichJobIsMeantWhereTwoHaveARankInCommon) {
  const auto process = [](int pid, int rank, const char* job, int stalled) {
    return fmt::format(
        R"({{"host":"gpu1","at_ns":1000,"pid":{},"rank":{},"job":"{}","qps":[{{"qpn":17,"bytes":9000000,)"
        R"("outstanding":{},"oldest_ns":{}}}]}})",
        pid, rank, job, stalled > 0 ? 3 : 0, stalled);
  };
  const auto document = [](const std::string& one, const std::string& other) {
    return fmt::format(R"({{"schema":"weft.qps/1","processes":[{},{}]}})", one, other);
  };
  const ScratchFile both(document(process(1, 3, "77", 0), process(2, 3, "78", 2'000'000'000)));
  expect_matches_schema(text_of(both.path()), "qps");
  const auto asked = hang({kDumps, "--qps", both.path()});
  EXPECT_EQ(asked.status, 64);
  EXPECT_THAT(
      unwrapped(asked.err),
      HasSubstr("of several jobs: job 77 and job 78 both have a rank 3: say by --job which one hangs"));
  const auto well = hang({kDumps, "--qps", both.path(), "--job", "77"});
  EXPECT_EQ(well.status, 2) << well.err;
  EXPECT_THAT(well.out, testing::Not(HasSubstr("queue pairs have work")));
  EXPECT_THAT(hang({kDumps, "--qps", both.path(), "--job", "78"}).out, HasSubstr("1 queue pairs have work"));
  const auto none = hang({kDumps, "--qps", both.path(), "--job", "79"});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(unwrapped(none.err), HasSubstr("is of that job; they are of job 77 and job 78"));
  EXPECT_EQ(hang({kDumps, "--job", "77"}).status, 64);
  const ScratchFile apart(document(process(1, 2, "77", 0), process(2, 3, "78", 0)));
  EXPECT_EQ(hang({kDumps, "--qps", apart.path()}).status, 2) << "as one job";
}

TEST(NcclHang, FromFilesOfAWholeJobItNamesTheLink) {
  const HungJob job(
      {.pods = 2, .hosts_per_pod = 4, .rails = 4, .spines = 4, .fault = JobFault::black_hole, .seed = 3});
  const auto scratch = os::ScratchDirectory::make();
  const auto dumps = scratch->path() / "dumps";
  const auto qps = scratch->path() / "qps";
  std::filesystem::create_directories(dumps);
  std::filesystem::create_directories(qps);
  for (const auto& dump : job.dumps)
    std::ofstream(dumps / fmt::format("nccl_trace_rank_{}", dump.rank), std::ios::binary) << dump.bytes;
  for (std::size_t i = 0; i < job.tables.size(); ++i)
    std::ofstream(qps / fmt::format("{}.json", i)) << job.tables[i];
  const ScratchFile fabric(files::write_fabric_file(job.fabric));
  const ScratchFile paths(files::path_map_json(job.fabric, job.paths, {.tool_version = "test"}));
  const ScratchFile ras(job.ras);
  const auto told = hang({dumps.string(), "--qps", qps.string(), "--fabric", fabric.path(), "--paths",
                          paths.path(), "--ras", ras.path(), "-o", "json"});
  EXPECT_EQ(told.status, 2) << told.err;
  const auto json = nlohmann::json::parse(told.out);
  EXPECT_EQ(json["cause"], "network") << told.out;
  ASSERT_EQ(json["links"].size(), 1u) << told.out;
  EXPECT_EQ(json["links"][0]["link"], job.fabric.name_of(Fabric::link_of(*job.faulty_channel)));
}

// tests/data/nccl_real: dumps (without stack traces) and RAS answers of PyTorch 2.11 with NCCL 2.28.9, four
// ranks on one H200 that NCCL took for four hosts, made to hang by hand.
const std::string kReal = WEFT_SOURCE_DIR "/tests/data/nccl_real/";

TEST(NcclHangOfRealJobs, ARankThatNeverCameToItsGroupsCollectiveIsNamed) {
  const auto told = hang({kReal + "two_groups"});
  EXPECT_EQ(told.status, 2) << told.err;
  EXPECT_THAT(told.out, StartsWith("rank 1 never entered collective 4 of group 1, in which 1 rank waits"));
}

/// NCCL 2.28.9 writes JSON with a comma missing where a rank does not answer.
TEST(NcclHangOfRealJobs, AStoppedAndAKilledProcessAreNamedByEitherFormOfRas) {
  for (const auto& [name, rank] : {std::pair("stopped", 3), std::pair("killed", 1)})
    for (const char* form : {"json", "txt"}) {
      const auto told = hang({kReal + name, "--ras", fmt::format("{}ras_{}.{}", kReal, name, form)});
      EXPECT_EQ(told.status, 2) << name << form << told.err;
      EXPECT_THAT(told.out, StartsWith(fmt::format("rank {} (process ", rank))) << name << form;
      EXPECT_THAT(told.out, HasSubstr("does not answer RAS and left no dump")) << name << form;
    }
}

/// ncclRecv waits within the call for its peer to connect: its event is not recorded, and PyTorch takes the
/// transfer for completed.
TEST(NcclHangOfRealJobs, ATransferWhoseCallHasNotReturnedIsNoHealthyJob) {
  const auto told = hang({kReal + "receive_alone"});
  EXPECT_EQ(told.status, 3) << told.out;
  EXPECT_THAT(told.out, StartsWith("unknown, because the call of rank 3 for recv 3<-0 of 262144 Float"));
}

TEST(NcclHangOfRealJobs, SizesThatDifferAreToldThoughAllRanksCompleted) {
  const auto told = hang({kReal + "mismatch_size"});
  EXPECT_EQ(told.status, 2) << told.out;
  EXPECT_THAT(told.out, StartsWith("rank 1 called all_reduce of 2097152 Float as collective 6 of group 0"));
  EXPECT_THAT(told.out, HasSubstr("nothing hangs: what ranks got of that"));
}

TEST(NcclHangOfRealJobs, AJobThatMovesWhileRasIsAskedDoesNotHang) {
  const std::string before =
      files::read_text_file(kReal + "ras_straggler.json", Bytes(1'000'000)).value().substr(3);  // after "OK"
  std::string after = before;
  const std::string count = "\"AllReduce\": 15";  // 154 and 155
  for (std::size_t at = 0; (at = after.find(count, at)) != after.npos; at += count.size())
    after[at + count.size() - 2] = '2';
  const Replies moves({{"OK\n", before}, {"OK\n", after}});
  const auto told = hang({kReal + "straggler", "--ras", moves.place()});
  EXPECT_THAT(told.out, StartsWith("rank 2")) << told.err;
  EXPECT_EQ(told.status, 1) << told.out;
  const Replies stands({{"OK\n", before}, {"OK\n", before}});
  EXPECT_EQ(hang({kReal + "straggler", "--ras", stands.place()}).status, 2);
}

}  // namespace
}  // namespace weft::cli
