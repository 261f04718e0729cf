#include "probes/engine/verbs/qp_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/engine/verbs/verbs_engine.hpp"

namespace weft::verbs {
namespace {

ConnectQps offer() {
  ConnectQps made{.batch = BatchId(7),
                  .kind = rdma::QpKind::unreliable,
                  .operation = FlowOperation::read,
                  .busy_poll = true,
                  .from = {rdma::gid_of(IpAddress(IpAddress::V4{10, 0, 1, 1})), Lid(0), 0},
                  .mtu = Bytes(4096),
                  .message = Bytes(84),
                  .depth = 64,
                  .reads = {.asks = 16, .serves = 12}};
  made.queue_key = 0x1234'5678;
  made.qps = {{0, QpNum(17), 99, PathLabel(50152), PathLabel(50153)}, {1, QpNum(18), 100, std::nullopt}};
  return made;
}

TEST(QpMessages, ReadBackAsTheyWereWritten) {
  for (const auto kind : {rdma::QpKind::reliable, rdma::QpKind::unreliable, rdma::QpKind::datagram}) {
    ConnectQps connect = offer();
    connect.kind = kind;
    EXPECT_EQ(decode_qp_question(encode(connect)).value(), QpQuestion(connect));
  }
  const QpQuestion close = CloseQps{BatchId(7), {{3, 12, 10, 41'400, std::chrono::milliseconds(500)}}};
  EXPECT_EQ(decode_qp_question(encode(close)).value(), close);
  const QpsConnected answer{{rdma::gid_of(IpAddress(IpAddress::V4{10, 0, 2, 1})), Lid(4), 3},
                            0x7f00'0000'1000,
                            0xABCD,
                            {{QpNum(40), 5}},
                            true,
                            {.asks = 0, .serves = 255},
                            0xFFFF'FFFF};
  EXPECT_EQ(decode_qps_connected(encode(answer)).value(), answer);
}

TEST(QpMessages, WhatDoesNotFitIsAnErrorThatSaysSo) {
  for (const char* text :
       {"", "{}", "[1]", R"({"do":"connect"})", R"({"do":"dance","batch":1})",
        R"({"do":"close","batch":1,"moved":{"rows":1,"spec":[1]}})",
        R"({"do":"close","batch":-1,"moved":{"rows":0}})", R"({"do":"close","batch":1,"moved":7})"}) {
    const auto read = decode_qp_question(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_input);
  }
  EXPECT_FALSE(decode_qps_connected(
      R"({"from":{"gid":[1,2],"lid":0},"memory":1,"key":1,"qps":{"rows":0},"stamps":false})"));
}

TEST(QpMessages, NumbersThatDoNotFitAreRefusedNeverCut) {
  const auto with = [](std::string text, std::string_view old, std::string_view now) {
    const auto at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old << " in " << text;
    return text.replace(at, old.size(), now);
  };
  const std::string connect = encode(QpQuestion(offer()));
  EXPECT_FALSE(decode_qp_question(with(connect, "255,255", "255,311"))) << "a byte of a GID";
  EXPECT_FALSE(decode_qp_question(with(connect, "255,255", "255,3e8")));
  EXPECT_FALSE(decode_qp_question(with(connect, "255,255", "255"))) << "a GID of 15 bytes";
  EXPECT_FALSE(decode_qp_question(with(connect, "255,255", "255,255,255"))) << "of 17";
  EXPECT_FALSE(decode_qp_question(with(connect, "\"mtu\":4096", "\"mtu\":1e300")));
  EXPECT_FALSE(decode_qp_question(with(connect, "\"mtu\":4096", "\"mtu\":-1")));
  EXPECT_FALSE(decode_qp_question(with(connect, "[99,", "[16777216,"))) << "a sequence number";
  for (const char* nobodys : {"[0,", "[1,", "[16777215,", "[16777233,"})
    EXPECT_FALSE(decode_qp_question(with(connect, "[17,", nobodys))) << "a queue pair of no agent";
  const std::string answer = encode(QpsConnected{.qps = {{QpNum(40), 5}}});
  EXPECT_TRUE(decode_qps_connected(answer));
  EXPECT_FALSE(decode_qps_connected(with(answer, "[40]", "[1]")));
  EXPECT_FALSE(decode_qps_connected(with(answer, "[5]", "[16777216]")));
  const std::string close = encode(QpQuestion(CloseQps{BatchId(7), {{3, 12, 10, 41'400, Nanoseconds(500)}}}));
  EXPECT_FALSE(decode_qp_question(with(close, "500", "5e30"))) << "a time";
  EXPECT_FALSE(decode_differing("[1,4294967296]"));
}

TEST(QpMessages, MoreReadsThanAnyDeviceCanBeToldAreRefused) {
  const auto text = encode(QpQuestion(offer()));
  for (const char* instead : {"256", "-1", "1.5", "null", "[]"}) {
    auto changed = text;
    changed.replace(changed.find(R"("asks":16)") + 7, 2, instead);
    EXPECT_FALSE(decode_qp_question(changed)) << instead;
  }
}

TEST(QpMessages, MoreQueuePairsThanAnyRequestNeedsAreRefused) {
  ConnectQps many = offer();
  many.qps.resize(kMaxGroupQps + 1, many.qps[0]);
  EXPECT_FALSE(decode_qp_question(encode(QpQuestion(many))));
}

TEST(CompletionStatus, IsSpokenInWordsWithItsNumber) {
  EXPECT_EQ(rdma::describe_status(12), "transport retry counter exceeded (status 12)");
  EXPECT_EQ(rdma::describe_status(99), "unknown (status 99)");
}

// Runs where there is no RDMA device and where there is one: no device has this address.
TEST(VerbsEngine, WithoutADeviceForTheAddressSaysWhatIsMissing) {
  const auto opened =
      open_verbs_engine({.gid = {IpAddress(IpAddress::V4{192, 0, 2, 77}), ""}, .traffic = {}, .memory = {}});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().kind,
              testing::AnyOf(ErrorKind::absent, ErrorKind::not_supported, ErrorKind::permission));
  EXPECT_THAT(opened.error().message, testing::HasSubstr("RDMA"));
}

}  // namespace
}  // namespace weft::verbs
