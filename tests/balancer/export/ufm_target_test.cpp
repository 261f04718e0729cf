// A UFM by its API: what is isolated and taken back there, and all that a server may do meanwhile.
#include "balancer/export/ufm_target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "balancer/export/sync.hpp"
#include "tests/fakes/fake_ufm.hpp"
#include "tests/support/model_site.hpp"
#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Clock = std::chrono::steady_clock;

/// A UFM with the ports of a fabric, and a ledger.
class UfmSite : public testing::Test {
 protected:
  UfmSite()
      : UfmSite(*make_clos(
            {.name = "f", .kind = FabricKind::infiniband, .leaves = 2, .spines = 4, .hosts_per_leaf = 2})) {
    first_ = end("leaf1--spine1", "leaf1"), far_ = end("leaf1--spine1", "spine1");
  }
  explicit UfmSite(Fabric fabric) : fabric_(std::move(fabric)) {
    policy_.caps = {.leaf_uplinks = 1, .pod_links = 1, .fabric_links = 1, .rail_nics = 1};
    server_.add_fabric(fabric_);
    open();
  }

  UfmServer place(Nanoseconds limit = 2s) const {
    return {.url = server_.url(),
            .user = FakeUfm::kUser,
            .password = server_.password_file(),
            .ca = server_.ca_file(),
            .limit = limit};
  }
  /// As a new run of weft does. Its clock goes on by what it sleeps.
  void open(std::size_t max_isolated = kMaxIsolated, Nanoseconds limit = 2s) {
    open(place(limit), max_isolated);
  }
  void open(const UfmServer& server, std::size_t max_isolated = kMaxIsolated) {
    auto api = open_ufm_api(server);
    ASSERT_TRUE(api) << api.error().message;
    const UfmWait wait{.now = [this] { return slept_; },
                       .sleep = [this](Nanoseconds time) { slept_ += time; }};
    target_ = std::make_unique<UfmTarget>(fabric_, std::move(*api), wait, max_isolated);
  }
  void run(const std::vector<blacklist::Command>& commands) {
    ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      return blacklist::step(std::move(read), fabric_, policy_, {}, commands, Mutes(), now_);
    }));
  }
  void add(const std::string& subject) {
    run({blacklist::Add{blacklist::parse_subject(fabric_, subject).value(), std::chrono::hours(4), "bad",
                        "anna"}});
  }
  void release() { run({blacklist::Release{entry().id, "anna"}}); }
  /// How many changes did not come to stand.
  Result<std::size_t> sync() {
    events_.clear();
    const Site site{fabric_,
                    policy_,
                    ledger_,
                    *target_,
                    [&] { return now_; },
                    [&](const auto& events) { events_.insert(events_.end(), events.begin(), events.end()); }};
    WEFT_TRY(auto look, look_at(site, ledger_.ledger()));
    const auto refused = apply(site, look);
    plan_ = look.plan;
    return refused;
  }
  /// The error of a sync that has to have one; it never tells the password.
  Error error_of_sync() {
    const auto began = Clock::now();
    const auto done = sync();
    EXPECT_LT(Clock::now() - began, 60s) << "each call has its limit";
    EXPECT_FALSE(done);
    const auto error = done ? Error{} : done.error();
    EXPECT_THAT(error.message, Not(HasSubstr(FakeUfm::kPassword)));
    return error;
  }
  const blacklist::Entry& entry() const { return ledger_.ledger().entries.front(); }
  std::string end(const std::string& link, const std::string& node) const {
    return FakeUfm::end_of(fabric_, link, node);
  }
  void answer_with(std::function<void(httplib::Response&)> how) {
    server_.meddle([how = std::move(how)](const auto&, auto& response) { return how(response), true; });
  }

  /// As while another server of a pair takes over.
  void list_nothing() {
    server_.meddle([](const auto& request, auto& response) {
      if (request.method != "GET" || !request.path.ends_with("/unhealthy_ports")) return false;
      return response.set_content("[]", "application/json"), true;
    });
  }
  /// Until what is not shown is believed.
  void wait() { now_.wall += kUfmLag; }

  const Fabric fabric_;
  std::string first_, far_;
  blacklist::Policy policy_;
  blacklist::Now now_{.wall = UtcTime(std::chrono::seconds(1'800'000'000)), .uptime = {}, .boot = "b"};
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  Nanoseconds slept_{};
  FakeUfm server_;
  std::unique_ptr<UfmTarget> target_;
  std::vector<blacklist::LedgerEvent> events_;
  Plan plan_;
};

TEST_F(UfmSite, IsolatesAPortAndTakesItBack) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(first_));
  EXPECT_TRUE(entry().marks.front().read_back);
  EXPECT_EQ(sync(), 0u);
  EXPECT_FALSE(plan_.would_change());
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
  EXPECT_TRUE(entry().marks.empty());
  EXPECT_EQ(server_.changes().size(), 2u);
}

TEST_F(UfmSite, GoesByATokenOnItsOwnPaths) {
  open({.url = server_.url(), .token = server_.token_file(), .ca = server_.ca_file(), .limit = 2s});
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(first_));
}

TEST_F(UfmSite, LooksUntilAChangeHolds) {
  server_.be_late(5);
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(slept_, 5s);
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(slept_, 10s);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
}

TEST_F(UfmSite, KeepsItsIntentWhereAChangeDoesNotHoldInTime) {
  server_.be_late(1000);
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 1u);
  EXPECT_EQ(slept_, 60s);
  EXPECT_THAT(events_, Contains(Field(&blacklist::LedgerEvent::text, HasSubstr("after 60 s leaf1/p"))));
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_FALSE(entry().marks.front().read_back);
  server_.isolate(first_);  // it came in the end
  EXPECT_EQ(sync(), 0u);
  EXPECT_TRUE(entry().marks.front().read_back);
}

TEST_F(UfmSite, LooksOnWhereTheListIsOnceNone) {
  server_.be_late(3);
  std::atomic<bool> was_put = false;
  server_.meddle([&](const auto& request, auto& response) {
    if (request.method == "PUT") was_put = request.body.find("UNHEALTHY") != std::string::npos;
    if (request.method == "PUT" || !was_put.exchange(false)) return false;
    return response.set_content("<html>one moment</html>", "text/html"), true;
  });
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_TRUE(entry().marks.front().read_back);
}

TEST_F(UfmSite, BelievesNoListThatIsEmptyForAWhile) {
  for (const char* link : {"leaf1--spine1", "leaf1--spine2"}) add(link);
  EXPECT_EQ(sync(), 0u);
  add("leaf1--spine3");
  release();
  list_nothing();
  for (int i = 0; i < 3; ++i) {
    now_.wall += 4min;
    EXPECT_EQ(sync(), 0u);
  }
  const auto& entries = ledger_.ledger().entries;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(entries[i].marks.size(), 1u);
  EXPECT_EQ(entries[1].state, blacklist::EntryState::active);
  EXPECT_EQ(server_.changes().size(), 2u) << "ways that are isolated would count as ways";
  server_.meddle({});
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(end("leaf1--spine2", "leaf1"), end("leaf1--spine3", "leaf1")));
  EXPECT_TRUE(entries[0].marks.empty());
  EXPECT_FALSE(ledger_.ledger().entries[1].marks.front().is_open());
}

TEST_F(UfmSite, KeepsItsMarkUnderWhatTheSubnetManagerReports) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  server_.heal(first_);
  server_.isolate(first_, "FLAPPING");
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(entry().marks.size(), 1u);
  EXPECT_THAT(plan_.left_alone, Contains(AllOf(HasSubstr("not by weft"), HasSubstr("FLAPPING"))));
  server_.heal(first_);  // by an operator
  wait();
  EXPECT_EQ(sync(), 0u);
  wait();
  EXPECT_EQ(sync(), 0u);
  EXPECT_TRUE(entry().held);
}

TEST_F(UfmSite, TakesNothingBackThatTheSubnetManagerListsToo) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  server_.isolate(first_, "FLAPPING");
  release();
  EXPECT_EQ(sync(), 1u);
  EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("unhealthy too (FLAPPING, MANUAL)")));
  EXPECT_EQ(server_.changes().size(), 1u);
  EXPECT_EQ(entry().marks.size(), 1u);
  server_.heal(first_);
  server_.isolate(first_);
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
}

/// The cable was at another port when it was isolated: the file has been corrected.
TEST_F(UfmSite, LeavesAPortThatTheFileHasElsewhereNowAndSaysHowItIsTakenBack) {
  const std::string before = "00000000000000aa_1";
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  server_.heal(first_);
  server_.isolate(before);
  ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
    read.entries.front().marks.front().set = "isolated at " + before;
    return blacklist::Stepped{std::move(read), {}};
  }));
  for (const bool is_wanted : {true, false}) {
    if (!is_wanted) release();
    wait();
    EXPECT_EQ(sync(), 0u);
    EXPECT_THAT(plan_.left_alone, Contains(AllOf(HasSubstr("leaf1--spine1: left as it is"),
                                                 HasSubstr("has it elsewhere now"), HasSubstr(before))));
    EXPECT_THAT(server_.unhealthy(), ElementsAre(before));
    EXPECT_EQ(entry().marks.size(), 1u);
  }
  server_.heal(before);
  EXPECT_EQ(sync(), 0u);
  wait();
  EXPECT_EQ(sync(), 0u);
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(UfmSite, LeavesWhatOthersIsolatedAsItIs) {
  for (const auto& [port, condition] :
       {std::pair(first_, "MANUAL"), std::pair(far_, "MANUAL"), std::pair(first_, "FLAPPING")}) {
    ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
    server_.isolate(port, condition);
    add("leaf1--spine1");
    EXPECT_EQ(sync(), 0u);
    EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("leaf1--spine1: ")));
    release();
    EXPECT_EQ(sync(), 0u);
    EXPECT_THAT(server_.unhealthy(), ElementsAre(port));
    server_.heal(port);
  }
  EXPECT_THAT(server_.changes(), IsEmpty());
}

TEST_F(UfmSite, TakesBackItsOwnEndAndLeavesTheOther) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  server_.isolate(far_);
  EXPECT_EQ(sync(), 0u);
  EXPECT_FALSE(plan_.would_change()) << "it is still ours";
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(far_));
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(UfmSite, HoldsAnEntryWhosePortSomebodyTookBack) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  server_.heal(first_);
  wait();
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(entry().state, blacklist::EntryState::active) << "it may not be shown";
  wait();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
  EXPECT_EQ(entry().state, blacklist::EntryState::proposed);
  EXPECT_TRUE(entry().held);
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(UfmSite, IsolatesNoMoreThanItsCapAndSaysSo) {
  server_.isolate("00000000000000aa_1");  // of a port that no file has
  for (const char* link : {"leaf1--spine1", "leaf1--spine2", "leaf1--spine3"}) add(link);
  open(2);
  EXPECT_EQ(sync(), 2u);
  EXPECT_EQ(server_.unhealthy().size(), 2u);
  EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("--ufm-max-isolated lets 2")));
  open(0);
  EXPECT_EQ(sync(), 2u);
  EXPECT_EQ(server_.unhealthy().size(), 2u) << "what stands, stands";
  run({blacklist::Release{entry().id, "anna"}});
  open(2);
  EXPECT_EQ(sync(), 1u);
  EXPECT_THAT(server_.unhealthy(), Contains(end("leaf1--spine2", "leaf1"))) << "room for the next";
}

TEST_F(UfmSite, NeverIsolatesTheLastWayNorAHostsLastCable) {
  for (const char* link : {"leaf1--spine1", "leaf1--spine2", "leaf1--spine3", "leaf1--spine4"}) add(link);
  policy_.nic_action = blacklist::NicAction::rail;
  add("host1--leaf1");
  EXPECT_EQ(sync(), 2u);
  EXPECT_EQ(server_.unhealthy().size(), 3u);
  EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("the last way between leaf1 and leaf2")));
  EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("the last cable of host1")));
}

class UfmRails : public UfmSite {
 protected:
  UfmRails()
      : UfmSite(*make_rails({.name = "f",
                             .kind = FabricKind::infiniband,
                             .groups = 1,
                             .hosts_per_group = 2,
                             .rails = 2,
                             .spines = 2})) {}
};

TEST_F(UfmRails, AreIsolatedAtTheirLeafAndTakenBack) {
  const PortId nic = fabric_.nics()[0];
  const auto link = fabric_.name_of(*fabric_.port(nic).link);
  policy_.nic_action = blacklist::NicAction::rail;
  add(link);
  EXPECT_EQ(sync(), 0u);
  ASSERT_EQ(server_.unhealthy().size(), 1u);
  EXPECT_NE(server_.unhealthy().front(), FakeUfm::name_of(fabric_, nic));
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
}

TEST_F(UfmSite, LeavesPortsThatUfmDoesNotHave) {
  server_.drop_port(far_);
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(plan_.left_alone, Contains(HasSubstr("left as it is: UFM has no port spine1/p")));
  EXPECT_THAT(server_.changes(), IsEmpty());
}

TEST_F(UfmSite, SaysBeforeAnyChangeThatItMayNot) {
  server_.deny_changes();
  add("leaf1--spine1");
  const auto error = error_of_sync();
  EXPECT_EQ(error.kind, ErrorKind::permission);
  EXPECT_THAT(error.message, AllOf(HasSubstr("nothing was changed"), HasSubstr("the role Fabric Admin")));
  EXPECT_TRUE(entry().marks.empty());
  const ScratchFile wrong("another\n");
  std::filesystem::permissions(wrong.path(), std::filesystem::perms::owner_read);
  auto server = place();
  server.password = wrong.path();
  open(server);
  const auto refused = error_of_sync();
  EXPECT_EQ(refused.kind, ErrorKind::permission);
  EXPECT_THAT(refused.message, HasSubstr("it does not take this user and password"));
}

/// All that says neither that who asks has no right nor that nobody is there.
TEST_F(UfmSite, TakesNoOtherRefusalForOneOfRights) {
  std::atomic<int> status = 0;
  server_.meddle([&](const auto& request, auto& response) {
    return request.method == "PUT" && (FakeUfm::refuse(response, status, "no such port"), true);
  });
  for (const int one : {400, 404, 405, 409, 422, 500}) {
    status = one;
    EXPECT_TRUE(target_->check_rights()) << one;
  }
  for (const int one : {401, 403}) {
    status = one;
    EXPECT_EQ(target_->check_rights().error().kind, ErrorKind::permission) << one;
  }
}

TEST_F(UfmSite, PortsThatFailKeepNoOtherFromItsTurn) {
  for (const char* link : {"leaf1--spine1", "leaf1--spine2", "leaf1--spine3", "leaf2--spine1"}) add(link);
  const auto last = end("leaf2--spine1", "leaf2");
  server_.meddle([&](const auto& request, auto& response) {
    if (request.method != "PUT" || request.body.find("UNHEALTHY") == std::string::npos ||
        request.body.find(last) != std::string::npos)
      return false;
    FakeUfm::refuse(response, 503, "not this one");
    response.set_header("Retry-After", "60");
    return true;
  });
  EXPECT_EQ(sync(), 3u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(last));
}

TEST_F(UfmSite, OnePortThatIsRefusedKeepsNoOtherFromItsTurn) {
  server_.meddle([&](const auto& request, auto& response) {
    if (request.method != "PUT" || request.body.find(first_) == std::string::npos) return false;
    FakeUfm::refuse(response, 400, "no such port");
    return true;
  });
  add("leaf1--spine1");
  add("leaf1--spine2");
  EXPECT_EQ(sync(), 1u);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(end("leaf1--spine2", "leaf1")));
  EXPECT_THAT(events_, Contains(Field(&blacklist::LedgerEvent::text, HasSubstr("no such port"))));
}

TEST_F(UfmSite, ConcludesNothingOfHalfOrForeignAnswers) {
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  for (const char* body : {"", "[", "{}", "null", "<html>sign in</html>", R"([{"name": "x"}])",
                           R"([{"UnhealthyGUID": "0002c90300200000"}])"}) {
    answer_with([&](auto& response) { response.set_content(body, "application/json"); });
    EXPECT_EQ(error_of_sync().kind, ErrorKind::invalid_input) << body;
    EXPECT_EQ(entry().marks.size(), 1u) << body;
  }
  open(kMaxIsolated, 20s);
  answer_with([](auto& response) {
    response.set_content_provider(1000, "application/json", [](size_t at, size_t, httplib::DataSink& sink) {
      return at == 0 && sink.write("[{", 2);
    });
  });
  EXPECT_EQ(error_of_sync().kind, ErrorKind::absent);
  answer_with([&](auto& response) { response.set_redirect(server_.url() + "/ufmRest/elsewhere"); });
  EXPECT_THAT(error_of_sync().message, HasSubstr("sends elsewhere, which is not followed"));
  server_.meddle({});
  EXPECT_EQ(sync(), 0u);
  EXPECT_FALSE(plan_.would_change());
}

TEST_F(UfmSite, EndsWhereTheServerHangsOrNeverEnds) {
  add("leaf1--spine1");
  open(kMaxIsolated, 300ms);
  answer_with([&](auto&) {
    for (int i = 0; i < 200 && !server_.is_ending; ++i) std::this_thread::sleep_for(10ms);
  });
  EXPECT_EQ(error_of_sync().kind, ErrorKind::timeout);
  open(kMaxIsolated, 20s);
  answer_with([&](auto& response) {
    response.set_chunked_content_provider("application/json", [&](size_t, httplib::DataSink& sink) {
      static const std::string many(1'000'000, ' ');
      return !server_.is_ending && sink.write(many.data(), many.size());
    });
  });
  EXPECT_THAT(error_of_sync().message, HasSubstr("more than 64 MB"));
  server_.is_ending = true;
}

TEST_F(UfmSite, WaitsWhereTheServerIsBusyAndEndsWhereItIsAway) {
  std::atomic<int> busy = 0;
  server_.meddle([&](const auto&, auto& response) {
    if (++busy > 2) return false;
    FakeUfm::refuse(response, 429, "slow down");
    response.set_header("Retry-After", "0");
    return true;
  });
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  release();
  answer_with([](auto& response) {
    FakeUfm::refuse(response, 429, "slow down");
    response.set_header("Retry-After", "60");
  });
  EXPECT_THAT(error_of_sync().message, AllOf(HasSubstr("slow down"), HasSubstr("asked again in 60 s")));
  open(kMaxIsolated, 20s);
  server_.stop();
  EXPECT_EQ(error_of_sync().kind, ErrorKind::absent);
  EXPECT_EQ(entry().marks.size(), 1u);
}

TEST_F(UfmSite, AsksAServerThatDoesNotAnswerNotForEachOfMany) {
  for (const char* link : {"leaf1--spine1", "leaf1--spine2", "leaf1--spine3", "leaf2--spine1"}) add(link);
  std::atomic<int> asked = 0;
  std::atomic<bool> has_looked = false;
  server_.meddle([&](const auto& request, auto& response) {
    const bool is_put = request.method == "PUT" && request.body.find("UNHEALTHY") != std::string::npos;
    if (!is_put && (asked == 0 || has_looked.exchange(true))) return false;
    asked += is_put ? 1 : 0;
    FakeUfm::refuse(response, 503, "starting");
    response.set_header("Retry-After", "60");
    return true;
  });
  EXPECT_EQ(sync(), 4u);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(ledger_.ledger().entries.front().marks.size(), 1u) << "it may come yet";
}

TEST_F(UfmSite, TakesAChangeWhoseAnswerWasLostForMade) {
  std::atomic<bool> is_lost = false;
  server_.meddle([&](const auto& request, auto& response) {
    if (request.method != "PUT" || request.body.find("UNHEALTHY") == std::string::npos) return false;
    server_.isolate(first_);
    is_lost = true;
    FakeUfm::refuse(response, 504, "gateway");
    response.set_header("Retry-After", "60");
    return true;
  });
  add("leaf1--spine1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_TRUE(is_lost);
  EXPECT_THAT(server_.unhealthy(), ElementsAre(first_));
}

/// The first run gets no answer from a call on, each in its turn.
TEST_F(UfmSite, CompletesOrUndoesWhatARunThatEndedAtAnyCallLeft) {
  for (const bool is_wanted : {true, false}) {
    int last = 0;  // call of the first run
    for (bool has_ended = true; has_ended;) {
      ++last;
      SCOPED_TRACE(fmt::format("ends at call {}, {}", last, is_wanted ? "still wanted" : "released"));
      ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
      add("leaf1--spine1");
      std::atomic<int> calls = 0;
      server_.meddle([&](const auto&, auto& response) {
        if (++calls < last) return false;
        return FakeUfm::refuse(response, 418, "dead"), true;
      });
      open();
      static_cast<void>(sync());
      server_.meddle({});
      has_ended = calls >= last;
      open();
      if (!is_wanted) release();
      wait();
      ASSERT_EQ(sync(), 0u);
      EXPECT_EQ(server_.unhealthy().size(), is_wanted ? 1u : 0u);
      EXPECT_EQ(entry().marks.size(), is_wanted ? 1u : 0u);
      if (is_wanted) release();
      ASSERT_EQ(sync(), 0u);
      ASSERT_THAT(server_.unhealthy(), IsEmpty());
    }
    EXPECT_GT(last, 7);
  }
}

TEST_F(UfmSite, TellsWhatAnOperatorTypes) {
  add("leaf1--spine1");
  std::vector<Change> changes{{.act = Act::put, .object = "leaf1--spine1"}};
  ASSERT_TRUE(target_->read(std::vector<std::string>{"leaf1--spine1", "host1", "no--cable"}));
  EXPECT_THAT(target_->prepare(changes), ElementsAre(""));
  EXPECT_EQ(
      changes[0].undo,
      fmt::format("curl -u weft --cacert {} -X PUT -H 'Content-Type: application/json' -d "
                  "'{{\"ports\":[\"{}\"],\"ports_policy\":\"HEALTHY\"}}' {}/ufmRest/app/unhealthy_ports",
                  server_.ca_file(), first_, server_.url()));
  EXPECT_THAT(target_->by_hand(changes[0]), HasSubstr("leaf1--spine1: UNHEALTHY, isolate"));
}

/// Also one that what stands in its place contains.
TEST_F(UfmSite, TellsNoPasswordThatTheServerRepeats) {
  for (const std::string password : {".", "s3cret"}) {
    RestServer server{.url = server_.url(), .ca = server_.ca_file(), .limit = 2s};
    server.secrets = {password};
    server.read_refusal = [&](std::string_view) { return RestRefusal{"you sent " + password, false}; };
    const auto said = RestApi::open(server).value()->call({.path = "/"});
    ASSERT_FALSE(said);
    EXPECT_THAT(said.error().message, HasSubstr("you sent ...: "));
  }
}

TEST(UfmFiles, SayWhatIsWrongWithAUserOrItsPassword) {
  const auto kind = [](const std::string& password, const std::string& user = "weft") {
    const ScratchFile file(password);
    std::filesystem::permissions(file.path(), std::filesystem::perms::owner_read);
    const auto api = open_ufm_api({.url = "https://localhost", .user = user, .password = file.path()});
    return api ? ErrorKind::internal : api.error().kind;
  };
  EXPECT_EQ(kind("a b\n"), ErrorKind::internal) << "it is one";
  EXPECT_EQ(kind("\n"), ErrorKind::invalid_input);
  EXPECT_EQ(kind("a\nb"), ErrorKind::invalid_input);
  EXPECT_EQ(kind("secret", "a:b"), ErrorKind::usage);
  EXPECT_EQ(kind("secret", ""), ErrorKind::usage);
  EXPECT_FALSE(open_ufm_api({.url = "https://localhost", .user = "weft", .password = "/no/such/file"}));
  EXPECT_FALSE(open_ufm_api({.url = "https://localhost", .token = "/no/such/file"}));
}

}  // namespace
}  // namespace weft::exports
