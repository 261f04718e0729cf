// `weft compare run` over labs of InfiniBand: ibsim and OpenSM. Probes alone are compared; what ibsim cannot
// carry is said to be impossible there.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/lab_place.hpp"
#include "tests/support/infiniband_lab.hpp"
#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/test_cluster.hpp"

namespace weft {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using Json = nlohmann::json;

constexpr auto kLimit = std::chrono::minutes(4);
constexpr const char* kShape =
    "clos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\nlab: {routing: minhop, lmc: 1}\n";

std::vector<std::string> strings(const Json& array) { return array.get<std::vector<std::string>>(); }

/// How the cell that ends so was decided; a failed test where there is none.
std::string verdict_of(const Json& document, const std::string& work) {
  for (const Json& cell : document["cells"])
    if (cell["work"] == work) return cell["verdict"];
  ADD_FAILURE() << "no cell " << work << " in " << document;
  return {};
}

/// All that a lab of InfiniBand can carry, and nothing else.
void expect_probes_alone(const Json& document) {
  for (const Json& cell : document["cells"])
    EXPECT_THAT(cell["metric"].get<std::string>(), testing::AnyOf("arrived", "ways")) << cell;
  EXPECT_TRUE(document["only_a"].empty()) << document["only_a"];
  EXPECT_TRUE(document["only_b"].empty()) << document["only_b"];
}

class CompareInfiniband : public InfinibandLabTest {};

/// Two of one shape.
struct TwoLabs {
  InfinibandLab a{InfinibandLab::Shape{kShape}}, b{InfinibandLab::Shape{kShape, "b"}};

  InfinibandLab::Answer compared(const std::vector<std::string>& more) {
    EXPECT_EQ(a.up.status, 0) << a.up.errors;
    EXPECT_EQ(b.up.status, 0) << b.up.errors;
    std::vector<std::string> words{"compare", "run", "--lab=" + a.name(), "--lab=" + b.name(), "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return a.weft(words, kLimit);
  }
};

TEST_F(CompareInfiniband, TwoHealthyLabsAreEqualInWhatTheyCarry) {
  TwoLabs labs;
  const auto equal = labs.compared({"--each", "budget=3s", "--blocks", "6"});
  ASSERT_EQ(equal.status, 0) << equal.text << equal.errors;
  expect_matches_schema(equal.text, "comparison");
  const auto document = Json::parse(equal.text);
  expect_probes_alone(document);
  for (const char* work : {"probes that arrived 4 hops", "probes that arrived path with the most loss",
                           "NICs that were reached", "ways between two NICs"})
    EXPECT_EQ(verdict_of(document, work), "equal");
  EXPECT_THAT(strings(document["impossible"]),
              AllOf(Contains(AllOf(StartsWith("A and B: round trips"), HasSubstr("ibsim has no delays"))),
                    Contains(AllOf(StartsWith("A and B: transfers"), HasSubstr("no data")))));
  EXPECT_TRUE(document["not_told"].empty()) << document["not_told"];
}

TEST_F(CompareInfiniband, ALossyCableAndOneThatIsOutAreNamed) {
  TwoLabs labs;
  EXPECT_EQ(labs.b.fault({"leaf1--spine2", "--loss", "10", "--from", "leaf1"}).status, 0);
  const auto differs = labs.compared({"--blocks", "3"});
  ASSERT_EQ(differs.status, 1) << differs.text << differs.errors;
  const auto document = Json::parse(differs.text);
  EXPECT_THAT(document["sentence"].get<std::string>(),
              AllOf(HasSubstr("A better"), HasSubstr("mostly by losses, B: leaf1--spine2 (loss)")));
  EXPECT_EQ(verdict_of(document, "probes that arrived path with the most loss"), "differs");
  EXPECT_EQ(verdict_of(document, "ways between two NICs"), "equal") << "a loss takes no way away";

  EXPECT_EQ(labs.b.heal().status, 0);
  EXPECT_EQ(labs.b.fault({"host3--leaf2", "--down"}).status, 0);
  const auto cut = labs.compared({"--blocks", "3", "--only", "NICs"});
  EXPECT_EQ(cut.status, 1) << cut.text << cut.errors;
  EXPECT_THAT(cut.text, HasSubstr("at fault in B alone: host3 (down)"));

  const auto loaded = labs.compared({"--each", "load=full"});
  EXPECT_EQ(loaded.status, 64);
  EXPECT_THAT(loaded.errors, HasSubstr("only probes can be compared"));
}

constexpr const char* kRoce =
    "fabric: roce\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2}\nlab: {link_rate: 50M}\n";

TEST_F(CompareInfiniband, ALabOfRoceIsComparedWithOneOfInfinibandByProbesAlone) {
  const LabUser user(kRoce);
  ASSERT_EQ(user.up().status, 0);
  InfinibandLab b(InfinibandLab::Shape{kShape});
  ASSERT_EQ(b.up.status, 0) << b.up.errors;
  EXPECT_EQ(b.fault({"leaf3--spine1", "--loss", "10", "--from", "spine1"}).status, 0);
  auto running =
      user.start({"compare", "run", "--lab=" + user.lab, "--lab=" + b.name(), "--blocks", "3", "-o", "json"});
  const auto answer = running.wait(kLimit);
  ASSERT_EQ(answer.status, 1) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  const auto document = Json::parse(answer.output);
  expect_probes_alone(document);
  EXPECT_THAT(document["cells"], SizeIs(3)) << document["cells"];
  EXPECT_EQ(verdict_of(document, "NICs that were reached"), "equal");
  EXPECT_THAT(document["sentence"].get<std::string>(), HasSubstr("B: leaf3--spine1 (loss)"));
  EXPECT_TRUE(document["named_a"].empty()) << document["named_a"];
  EXPECT_THAT(strings(document["impossible"]),
              AllOf(Contains(AllOf(StartsWith("B: round trips"), HasSubstr("none of A are compared"))),
                    Contains(StartsWith("B: transfers")), Contains(StartsWith("A: ways between two NICs"))));
  EXPECT_THAT(strings(document["remarks"]), Contains(HasSubstr("probes over 2 hops were sent in A alone")));
}

/// A live fabric of each kind: hosts of a lab that a launcher reaches, and adapters of ibsim, whose sockets
/// are of the namespace that the head node of the first is in.
class TwoLiveFabrics {
 public:
  Answer compared(const std::vector<std::string>& more) {
    EXPECT_EQ(ib.up.status, 0) << ib.up.errors;
    const auto lab = lab::ib_lab_open(ib.name(), cli::ib_lab_root());
    if (!lab) return Answer{-1, "", lab.error().message};
    const auto listen = ",listen=" + roce.head_address();
    std::vector<std::string> words{"compare",
                                   "run",
                                   roce.live_file(),
                                   ib.file(),
                                   "--blocks",
                                   "3",
                                   "-o",
                                   "json",
                                   "--variant",
                                   "launcher=" + roce.launcher() + listen + ",hosts=host[1-4]",
                                   "--variant",
                                   "launcher=" + ib.launcher() + listen};
    for (const auto& variable : lab->environment_for_commands())
      words.insert(words.end(), {"--env", "B:" + variable});
    words.insert(words.end(), more.begin(), more.end());
    auto before = place;
    before.insert(before.end(), {"env", "--chdir=" + lab->directory.string()});
    return roce.start_after(before, words).wait(kLimit);
  }

  const TestCluster roce;
  const std::vector<std::string> place{"nsenter", "--net=" + roce.opened().management_namespace().string()};
  InfinibandLab ib{InfinibandLab::Shape{
      .text = "clos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 200G}\nlab: {routing: minhop, lmc: 1}\n",
      .before = place}};
};

TEST_F(CompareInfiniband, ALiveFabricOfRoceIsComparedWithALiveOneOfInfinibandByProbesAlone) {
  TwoLiveFabrics live;
  EXPECT_EQ(live.ib.fault({"leaf3--spine1", "--loss", "10", "--from", "spine1"}).status, 0);
  const auto answer = live.compared({"--each", "budget=3s"});
  ASSERT_EQ(answer.status, 1) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  const auto document = Json::parse(answer.output);
  expect_probes_alone(document);
  EXPECT_EQ(verdict_of(document, "NICs that were reached"), "equal");
  EXPECT_EQ(verdict_of(document, "probes that arrived path with the most loss"), "differs");
  EXPECT_THAT(document["sentence"].get<std::string>(), HasSubstr("B: leaf3--spine1 (loss)"));
  EXPECT_TRUE(document["named_a"].empty()) << document["named_a"];
  EXPECT_THAT(strings(document["impossible"]),
              AllOf(Contains(AllOf(StartsWith("B: round trips"), HasSubstr("none of A are compared"))),
                    Contains(AllOf(StartsWith("B: by queue pairs"), HasSubstr("engine=verbs")))));
  const auto loaded = live.compared({"--each", "load=full"});
  EXPECT_EQ(loaded.status, 64) << loaded.output;
  EXPECT_THAT(loaded.errors, HasSubstr("unless engine=verbs sends by queue pairs"));
}

}  // namespace
}  // namespace weft
