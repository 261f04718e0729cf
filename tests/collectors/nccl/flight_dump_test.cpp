// Dumps of the Flight Recorder. tests/data/nccl holds four that Python's own pickle (protocol 2) and json
// wrote in PyTorch's layout, versions 2.2 to 2.10: of a job of four, in which rank 2 did not come to the
// twelfth collective.
#include "collectors/nccl/flight_dump.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/nccl/dump_tree.hpp"
#include "tests/places.hpp"
#include "tests/support/hung_job.hpp"
#include "topology/files/file_text.hpp"

namespace weft::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string data(const std::string& name) {
  return files::read_text_file(WEFT_SOURCE_DIR "/tests/data/nccl/" + name, Bytes(1'000'000)).value();
}

/// A dump of one entry whose members `entry` writes.
template <class Entry>
std::string dump_of(Entry entry, const std::string& version = "2.4") {
  PickleWriter out;
  out.dict().text("version").text(version).text("entries").list().dict();
  entry(out);
  out.end_dict().end_list().end_dict();
  return std::move(out).end();
}

void put_minimum(PickleWriter& out) {
  out.text("collective_seq_id").whole(7).text("process_group").text("0").text("default_pg").pair();
  out.text("state").text("started").text("profiling_name").text("nccl:all_reduce");
}

std::string error_of(std::string_view text) {
  const auto dump = parse_flight_dump(text);
  return dump ? "it was read" : dump.error().message;
}

TEST(FlightDump, ThoseOfPythonsPickleAreRead) {
  for (const char* name : {"nccl_trace_rank_0", "nccl_trace_rank_1"}) {
    const auto dump = parse_flight_dump(data(name));
    ASSERT_TRUE(dump) << dump.error().message;
    ASSERT_THAT(dump->groups, SizeIs(1));
    EXPECT_THAT(dump->groups[0].ranks, ElementsAre(0, 1, 2, 3));
    ASSERT_THAT(dump->entries, SizeIs(12));
    ASSERT_THAT(dump->operations, SizeIs(1));
    EXPECT_EQ(to_string(dump->operations[0]), "all_reduce of 4096 Float");
    const FlightEntry& last = dump->entries.back();
    EXPECT_EQ(last.collective, 12u);
    EXPECT_EQ(last.state, EntryState::started);
    EXPECT_EQ(last.timeout_ms, 600'000u);
    EXPECT_EQ(last.completed, 0);
    EXPECT_EQ(dump->entries.front().duration, 3'250'000);
    ASSERT_THAT(dump->proxies, SizeIs(1));
    const ProxyState& state = dump->proxies[0];
    EXPECT_EQ(state.communicator, "0xabc");
    EXPECT_EQ(state.rank, *rank_of_file(name));
    EXPECT_TRUE(state.is_whole);
    ASSERT_THAT(state.active, SizeIs(1));
    EXPECT_EQ(state.active[0].remote, 1u);
    EXPECT_EQ(state.active[0].channel, 3u);
    EXPECT_TRUE(state.active[0].sends);
  }
}

TEST(FlightDump, JsonSaysTheSameAsPickle) {
  const auto json = parse_flight_dump(data("nccl_trace_rank_3.json"));
  const auto pickle = parse_flight_dump(data("nccl_trace_rank_0"));
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->version, "2.10");
  EXPECT_EQ(json->operations, pickle->operations);
  ASSERT_EQ(json->entries.size(), pickle->entries.size());
  for (std::size_t i = 0; i < json->entries.size(); ++i) {
    EXPECT_EQ(json->entries[i].collective, pickle->entries[i].collective);
    EXPECT_EQ(json->entries[i].state, pickle->entries[i].state);
    EXPECT_EQ(json->entries[i].created, pickle->entries[i].created);
  }
}

TEST(FlightDump, OfItsFilesNameTheRankIsTheLastNumber) {
  EXPECT_EQ(rank_of_file("nccl_trace_rank_17"), 17u);
  EXPECT_EQ(rank_of_file("nccl_trace_rank_3.json"), 3u);
  EXPECT_EQ(rank_of_file("readme"), std::nullopt);
  EXPECT_EQ(rank_of_file("rank_99999999999"), std::nullopt);
}

TEST(FlightDump, AListThatPyTorchBuildsByItsFunctionIsAList) {
  const auto text = dump_of([](PickleWriter& out) {
    put_minimum(out);
    out.text("input_sizes").list();
    for (const char c : std::string("ctorch.jit._pickle\nbuild_intlist\n")) out.op(c);
    out.op('(').list().whole(2).whole(3).end_list().op('t').op('R').end_list();
  });
  const auto dump = parse_flight_dump(text);
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->operations[0].input_elements, 6u);
}

TEST(Pickle, WhatWouldCallAFunctionIsRefusedWithItsOffsetAndName) {
  EXPECT_THAT(error_of(std::string("\x80\x02", 2) + "cos\nsystem\n(X\x02\0\0\0idtR."),
              testing::AllOf(HasSubstr("offset 2"), HasSubstr("'c'"), HasSubstr("os\\x0asystem")));
}

TEST(Pickle, OpcodesThatPyTorchDoesNotWriteAreRefused) {
  const auto with = [](char code) {
    return dump_of([&](PickleWriter& out) { put_minimum(out), out.op(code); });
  };
  // BUILD, INST, OBJ, PERSID, BINPERSID, LONG, EXT1, NEWOBJ, BINSTRING, and those of protocols 4 and 5.
  for (const char code : {'b', 'i', 'o', 'P', 'Q', 'L', '\x82', '\x81', 'T', '\x95', '\x8c', '\x93', '\x98'})
    EXPECT_THAT(error_of(with(code)), HasSubstr("opcode")) << code;
  EXPECT_THAT(error_of("\x80\x04N."), HasSubstr("protocol 4"));
}

TEST(Pickle, CutShortAnywhereItIsAnErrorAndNeverADump) {
  const std::string whole = data("nccl_trace_rank_0");
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(parse_flight_dump(std::string_view(whole).substr(0, size))) << size;
  EXPECT_THAT(error_of(std::string_view(whole).substr(0, 900)), HasSubstr("cut short"));
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("behind its end"));
}

TEST(Pickle, OneThatPutsAListIntoItselfIsReadAndEnds) {
  PickleWriter out;
  out.dict().text("version").text("2.4").text("entries").op(']');
  const auto kept = out.keep();
  out.again(kept).op('a').end_dict();
  EXPECT_THAT(error_of(std::move(out).end()), HasSubstr("expected a dictionary"));
}

TEST(Pickle, ReferencesDoNotMultiplyWhatIsLookedAt) {
  // Lists of 64 references to lists of 64 references ...: 64^5 sizes of one tensor.
  const auto text = dump_of([](PickleWriter& out) {
    put_minimum(out);
    out.text("input_sizes").list();
    std::uint32_t kept = 0;
    out.list();
    for (int i = 0; i < 20'000; ++i) out.whole(1);
    kept = out.end_list().keep();
    for (int i = 0; i < 20'000; ++i) out.again(kept);
    out.end_list();
  });
  EXPECT_THAT(error_of(text), HasSubstr("more than"));
}

TEST(Pickle, DepthAndMemoHaveLimits) {
  EXPECT_THAT(error_of("\x80\x02" + std::string(100'000, '(')), HasSubstr("too deep"));
  EXPECT_THAT(error_of(std::string("\x80\x02Nr\xff\xff\xff\xff.", 9)), HasSubstr("nothing is kept"));
  EXPECT_THAT(error_of(std::string("\x80\x02X\xff\xff\xff\xff", 7)), HasSubstr("cut short"));
}

TEST(FlightDump, WhatOfTheProxiesIsNotUnderstoodIsNotTakenForAllThereIs) {
  const auto state_of = [](const std::string& active, bool with_rank = true) {
    PickleWriter out;
    out.dict().text("version").text("2.4").text("entries").list().end_list().text("nccl_comm_state").dict();
    out.text("0x1").dict();
    if (with_rank) out.text("rank").whole(5);
    out.text("CT_currentColls").text("[]").text("PT_activeOps").text(active).end_dict().end_dict().end_dict();
    const auto dump = parse_flight_dump(std::move(out).end());
    EXPECT_TRUE(dump && dump->proxies.size() == 1);
    return dump ? dump->proxies.at(0) : ProxyState{};
  };
  const ProxyState whole = state_of(
      R"([{"channelId":3,"opType":"SEND","remoteRank":1},{"channelId":0,"opType":"RECV","remoteRank":2}])");
  EXPECT_TRUE(whole.is_whole);
  EXPECT_EQ(whole.rank, 5u);
  ASSERT_THAT(whole.active, SizeIs(2));
  EXPECT_FALSE(whole.active[1].sends);
  EXPECT_TRUE(state_of("[]").is_whole);
  EXPECT_EQ(state_of("[]", false).rank, std::nullopt);
  for (const char* other :
       {"", "7", "[7]", "[{}]", R"([{"channelId":3,"opType":"PUT","remoteRank":1}])",
        R"([{"channelId":-3,"opType":"SEND","remoteRank":1}])", R"([{"opType":"SEND","remoteRank":1}])",
        R"([{"channelId":3,"opType":"SEND","remoteRank":1000000}])", R"([{"channelId":3)"})
    EXPECT_FALSE(state_of(other).is_whole) << other;
}

TEST(FlightDump, OtherVersionsAreToldApart) {
  const auto of = [](const std::string& version) { return dump_of(put_minimum, version); };
  EXPECT_TRUE(parse_flight_dump(of("2.2")));
  EXPECT_THAT(error_of(of("2.1")), HasSubstr("version 2.1"));
  EXPECT_THAT(error_of(of("1.5")), HasSubstr("2.2 to 2.10"));
  EXPECT_THAT(error_of(of("new")), HasSubstr("version"));
  const auto newer = parse_flight_dump(of("2.11"));
  ASSERT_TRUE(newer);
  EXPECT_THAT(newer->remarks, ElementsAre(HasSubstr("newer")));
}

TEST(FlightDump, AnEntryThatSaysNoStateOrNumberIsRefusedWithItsPlace) {
  EXPECT_THAT(error_of(dump_of([](PickleWriter& out) { out.text("state").text("started"); })),
              HasSubstr("entries[0]: collective_seq_id"));
  EXPECT_THAT(error_of(dump_of([](PickleWriter& out) {
                put_minimum(out);
                out.text("state").text("lost");
              })),
              HasSubstr("state: expected"));
  EXPECT_THAT(error_of("{\"version\":\"2.4\",\"entries\":7}"), HasSubstr("'entries' is no list"));
  EXPECT_THAT(error_of("hello"), HasSubstr("neither pickle nor JSON"));
  EXPECT_THAT(error_of("{" + std::string(200, '[')), testing::Not(HasSubstr("it was read")));
}

}  // namespace
}  // namespace weft::nccl
