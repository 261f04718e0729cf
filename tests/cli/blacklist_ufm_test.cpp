// `weft blacklist sync --to ufm` and its like as a user calls them, with a UFM of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/blacklist.hpp"
#include "tests/fakes/fake_ufm.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class BlacklistUfm : public testing::Test {
 protected:
  BlacklistUfm() {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: infiniband\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 400G}\n";
    server_.add_fabric(fabric_);
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--ledger", here("bl.db"), "--fabric", here("fabric.yaml")});
    auto outcome = call(blacklist_command, words);
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr(FakeUfm::kPassword)));
    return outcome;
  }
  Outcome on_target(std::vector<std::string> words,
                    const std::vector<std::string>& more = {"--apply"}) const {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--to", "ufm", "--ufm-server", server_.url(), "--ufm-user", FakeUfm::kUser,
                               "--ufm-password-file", server_.password_file(), "--ufm-ca", server_.ca_file(),
                               "--call-limit", "2s"});
    return run(words);
  }
  void add(const char* subject) const {
    const auto added = run({"add", subject, "--for", "4h", "--reason", "line card"});
    ASSERT_THAT(added.out, HasSubstr("activated")) << added.err << added.out;
  }

  const Fabric fabric_ = *make_clos(
      {.name = "f", .kind = FabricKind::infiniband, .leaves = 2, .spines = 4, .hosts_per_leaf = 4});
  const std::string port_ = FakeUfm::end_of(fabric_, "leaf1--spine1", "leaf1");
  FakeUfm server_;

 private:
  TestDirectory directory_;
};

TEST_F(BlacklistUfm, ShowsWhatItWouldDoThenDoesItAndTakesItBack) {
  add("leaf1--spine1");
  const auto dry = on_target({"sync"}, {});
  EXPECT_EQ(dry.status, 1) << dry.err;
  EXPECT_THAT(dry.out, AllOf(HasSubstr("put leaf1--spine1 (entry 1)\n- up\n+ isolated at " + port_),
                             HasSubstr("undo: curl -u weft --cacert ")));
  EXPECT_EQ(server_.calls_of("PUT"), 0u);
  expect_matches_schema(on_target({"sync"}, {"-o", "json"}).out, "changes");
  const auto done = on_target({"sync"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(server_.unhealthy(), ElementsAre(port_));
  EXPECT_EQ(on_target({"check"}, {}).status, 0);
  EXPECT_EQ(on_target({"undo", "1"}).status, 0);
  EXPECT_THAT(server_.unhealthy(), IsEmpty());
}

TEST_F(BlacklistUfm, SaysBeforeAnythingThatItHasNoRight) {
  add("leaf1--spine1");
  server_.deny_changes();
  const auto denied = on_target({"sync"});
  EXPECT_EQ(denied.status, 69);
  EXPECT_THAT(denied.err, HasSubstr("give it the role Fabric Admin"));
  EXPECT_THAT(server_.changes(), IsEmpty());
}

TEST_F(BlacklistUfm, HoldsBackWhatItsCapDoesNotLet) {
  add("leaf1--spine1");
  const auto none = on_target({"sync"}, {"--apply", "--ufm-max-isolated", "0"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("--ufm-max-isolated lets 0"));
  EXPECT_THAT(server_.changes(), IsEmpty());
  for (const char* number : {"-1", "8x", "", "1.5"})
    EXPECT_EQ(on_target({"sync"}, {std::string("--ufm-max-isolated=") + number}).status, 64) << number;
}

TEST_F(BlacklistUfm, NeedsAServerAndWhoAsks) {
  add("leaf1--spine1");
  const auto where = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"sync", "--to", "ufm"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_THAT(where({}).err, HasSubstr("expected --ufm-server URL"));
  EXPECT_THAT(where({"--ufm-server", server_.url()}).err, HasSubstr("expected --ufm-token-file FILE, or"));
  EXPECT_EQ(where({"--ufm-server", server_.url(), "--ufm-user", "weft"}).status, 64);
  EXPECT_THAT(where({"--ufm-server", "http://u.example", "--ufm-token-file", server_.token_file()}).err,
              HasSubstr("readable by all"));
  EXPECT_EQ(run({"sync", "--to", "slurm", "--ufm-server", server_.url()}).status, 64);
  EXPECT_EQ(
      where({"--ufm-server", server_.url(), "--ufm-token-file", server_.token_file(), "--call-limit", "61s"})
          .status,
      64);
  EXPECT_EQ(server_.calls_of("GET"), 0u);
  std::ofstream(here("fabric.yaml"))
      << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 400G}\n";
  EXPECT_THAT(on_target({"sync"}, {}).err, HasSubstr("which UFM does not manage"));
}

}  // namespace
}  // namespace weft::cli
