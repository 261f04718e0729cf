// Text of others, by the ways it really comes in: what reaches the terminal is harmless, and still legible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "collectors/report/table.hpp"
#include "probes/session/coordinator.hpp"
#include "probes/session/messages_json.hpp"
#include "probes/session/sweep.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEvil = "\x1b[2J\x1b[Hfabric a: healthy\r\n\u202eyhtlaeh";
constexpr const char* kEvilJson = R"(\u001b[2Jhealthy\r\n\u202eyhtlaeh)";

MATCHER(IsHarmless, "") { return outside_text(arg, LineBreaks::kept) == arg; }

/// The table of a sweep in which the agent of host1 sends just these messages.
std::string table_after(const std::vector<std::string>& messages) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressBook addresses = plan_addresses(fabric, IpFamily::v4).value().book;
  session::Sweep sweep(fabric, addresses, {}, RunId(7));
  std::vector<session::ExpectedHost> hosts;
  for (const PortId nic : fabric.nics()) hosts.push_back({fabric.port(nic).node, {{"p1", nic}}});
  session::Coordinator coordinator(fabric, sweep, {RunId(7), {}}, hosts);
  coordinator.start({});
  for (const std::string& bytes : messages) {
    const auto message = session::decode_to_coordinator(bytes);
    if (message)
      coordinator.on_message("host1", message->message, {});
    else
      coordinator.give_up("host1", message.error().message, {});
  }
  return report::diagnosis_table(files::diagnosis_document(fabric, sweep.finish().diagnosis, {},
                                                           {.generated_at = {}, .tool_version = "1"}),
                                 {.columns = 80});
}

TEST(HostileText, AForgedGoodbyeCannotSteerTheTerminal) {
  const auto table = table_after({std::string(R"({"type":"bye","run":7,"why":")") + kEvilJson + "\"}"});
  EXPECT_THAT(table, IsHarmless());
  EXPECT_THAT(table, Not(HasSubstr("\nhealthy")));
  EXPECT_THAT(table, HasSubstr("\\x1b[2Jhealthy\\x0d\\x0a\\u202eyhtlaeh"));
}

TEST(HostileText, AForgedTroubleOfANicAndAForgedInventoryCannotEither) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const auto nic = fabric.nics()[0].value();
  const auto hello = R"({"type":"hello","host":"host1","version":"","engine":"raw","nics":[]})";
  const auto trouble = fmt::format(
      R"({{"type":"ready","run":7,"troubles":[{{"nic":{},"text":"{}","of_tool":true}}],"uses":[]}})", nic,
      kEvilJson);
  EXPECT_THAT(table_after({hello, trouble}), IsHarmless());
  const auto unknown = fmt::format(R"({{"type":"{}"}})", kEvilJson);
  const auto table = table_after({unknown});
  EXPECT_THAT(table, IsHarmless());
  EXPECT_THAT(table, HasSubstr("\\x1b[2J")) << "the refusal quotes it";
}

TEST(HostileText, AFabricFileCannotSteerTheTerminal) {
  const ScratchFile fabric(
      "fabric: \"\\e[2J\\u202Ehealthy\\n\"\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n");
  const ScratchFile observations(
      R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],"sent":9,"lost":0})");
  const auto outcome =
      call(diagnose_command, {"--fabric", fabric.path(), "--observations", observations.path()});
  EXPECT_THAT(outcome.out, IsHarmless());
  EXPECT_THAT(outcome.out, HasSubstr("fabric \\x1b[2J\\u202ehealthy\\x0a: unknown"));
  const ScratchFile node("nodes: {\"a\\e[31m\": {kind: host}}\nlinks: []\n");
  const auto refused =
      call(diagnose_command, {"--fabric", node.path(), "--observations", observations.path()});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, IsHarmless());
}

TEST(HostileText, ObservationsThatNameWhatIsNotThereCannotEither) {
  const ScratchFile fabric("fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n");
  const ScratchFile observations(
      std::string("{\"path\":[\"\u202eleaf1->spine1\x9b\"],\"sent\":1,\"lost\":0}\n") + "{\"channel\":\"" +
      kEvilJson + "\",\"cause\":\"down\",\"log_ratio\":1,\"text\":\"\"}\n");
  const auto outcome =
      call(diagnose_command, {"--fabric", fabric.path(), "--observations", observations.path()});
  EXPECT_THAT(outcome.err, IsHarmless());
  EXPECT_THAT(outcome.err, HasSubstr("\\u202eleaf1"));
}

TEST(HostileText, ADumpOfASubnetBringsHarmlessDescriptions) {
  const auto subnet = files::parse_ibnetdiscover(std::string("Switch\t4 \"S-1\"\t# \"") +
                                                 "\x1b[2J\u202ecore" + "\" base port 0 lid 6 lmc 0\n");
  ASSERT_TRUE(subnet.has_value()) << subnet.error().message;
  EXPECT_EQ(subnet->nodes.at(0).about.description, "\\x1b[2J\\u202ecore");
  const auto refused = files::parse_ibnetdiscover(std::string(kEvil) + "\n");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, IsHarmless());
}

TEST(HostileText, AnArgumentIsShownAsItMayBe) {
  const auto outcome =
      call(diagnose_command, {"--fabric", std::string("/no") + kEvil, "--observations", "x"});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace weft::cli
