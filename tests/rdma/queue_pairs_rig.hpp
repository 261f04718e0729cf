// The fixture of tests over four guests with soft-RoCE on the 4x4 lab, booted once for all of them.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/places.hpp"
#include "tests/support/rdma_rig.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {

class QueuePairs : public testing::Test {
 public:
  using Json = nlohmann::json;
  using seconds = std::chrono::seconds;

  static constexpr const char* kFabric =
      "fabric: rig\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 1}\nlab: {link_rate: 10M, "
      "guests: "
      "all, "
      "guest_image: " WEFT_BINARY_DIR "/guest}\n";

 protected:
  static void SetUpTestSuite() {
    missing_ = new std::string(missing_for_guests());
    if (missing_->empty()) rig_ = new RdmaRig(kFabric);
  }
  static void TearDownTestSuite() {
    delete rig_;
    delete missing_;
  }
  void SetUp() override {
    if (!missing_->empty()) GTEST_SKIP() << *missing_;
    ASSERT_EQ(rig_->trouble(), "");
  }

  /// Keep what it gives non-const: a member that is not there then reads as null. Read from a const document
  /// it would abort the program, whose guests would be left behind.
  Json sweep(const char* load, const char* budget, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        "sweep", "--lab=" + rig().name(), "--engine", "verbs", "--load", load, "--budget", budget, "-o",
        "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto answer = rig().weft(words);
    said_ = answer.output + answer.errors;
    expect_matches_schema(answer.output, "diagnosis");
    return Json::parse(answer.output, nullptr, false);
  }
  /// Writes from host1 to host3 with these labels, each at 1 Mbit/s.
  session::WorkItem flows(const std::vector<std::uint32_t>& labels, Nanoseconds duration) {
    datapath::FlowRequest request{
        .run = RunId(1), .batch = BatchId(1), .peers = {rig().peer("host3")}, .duration = duration};
    for (const auto label : labels)
      request.specs.push_back({0, PathLabel(label), Bandwidth::mbit(1), Bytes(4096)});
    return {rig().nic("host1"), duration + seconds(20), request};
  }
  session::WorkItem pings(std::uint32_t count, std::uint32_t specs) {
    datapath::PingRequest request{.run = RunId(1), .batch = BatchId(2), .peers = {rig().peer("host3")}};
    for (std::uint32_t i = 0; i < specs; ++i)
      request.specs.push_back({0, PathLabel(50'000 + i), PathLabel(60'000 + i), count, Bytes(128)});
    request.pace.packets_per_second = 200;
    return {rig().nic("host1"), seconds(30), request};
  }
  session::WorkItem asked(const char* host, std::uint32_t batch) {
    return {rig().nic(host), seconds(5), session::ReceivedQuery{BatchId(batch)}};
  }

  RdmaRig& rig() { return *rig_; }
  static inline std::string* missing_ = nullptr;
  static inline RdmaRig* rig_ = nullptr;
  std::string said_;
};

}  // namespace weft
