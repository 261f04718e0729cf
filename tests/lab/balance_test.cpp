// `weft balance --lab`: assigned flows as packets through the kernel's ECMP. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

// Slow links: what is tested is where bytes go, on machines that do other things as well.
constexpr const char* kFabric =
    "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 4}\nlab: {link_rate: 20M}\n";
constexpr const char* kTwoSpines =
    "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 4}\n";

class BalanceLab : public LabUser {
 public:
  explicit BalanceLab(const char* fabric = kFabric) : LabUser(fabric) {
    const auto answer = up();
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  Answer balance(std::vector<std::string> more) const {
    std::vector<std::string> words{"balance", "--lab=" + lab, "--hosts", "8", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return weft(words);
  }
};

/// On a busy machine a packet that is late may be taken for lost.
std::uint64_t sent_again(const Json& sending) {
  const std::uint64_t sent = sending["sent"];
  const std::uint64_t packets = sending["packets"];
  return sent - std::min(sent, packets);
}

/// To the byte, but for what was sent again: that crosses its links once more, with its acknowledgement.
void expect_as_planned(const Json& sending) {
  constexpr std::uint64_t kMaxOne = 4096 + 256;  // a packet, the least one that answers it, their headers
  const auto again = sent_again(sending);
  if (again > 0) print_disturbance("packets sent again", again);
  EXPECT_EQ(sending["unfinished"], 0);
  EXPECT_GE(sending["received"], sending["packets"]);
  EXPECT_LE(sending["received"], sending["sent"]);
  for (const auto& link : sending["links"]) {
    EXPECT_GE(link["counted"], link["planned"]) << link;
    EXPECT_LE(link["counted"], link["planned"].get<std::uint64_t>() + again * kMaxOne) << link;
  }
}

TEST(BalanceLab, EveryLinkCountsWhatWasPlannedAlsoAfterOneFailed) {
  const BalanceLab lab;
  const auto answer = lab.balance({"--collective", "shift-4", "--qps", "4", "--bytes", "1500KB", "--run",
                                   "--repeat", "1", "--fail", "leaf1--spine2"});
  ASSERT_LE(answer.status, 1) << answer.errors;
  expect_matches_schema(answer.output, "trial");
  const Json document = Json::parse(answer.output);
  EXPECT_EQ(document["ratio"], 1.0);
  ASSERT_EQ(document["sendings"].size(), 2u);
  const auto& assigned = document["sendings"][0];
  // A time is the sender's and the network's together: with packets sent again it tells of neither.
  if (sent_again(assigned) == 0) {
    EXPECT_GT(document["gain"]["measured"], 1.0);
  }
  expect_as_planned(assigned);
  const auto& after = document["after_failure"];
  EXPECT_GT(after["stuck"], 0);
  EXPECT_EQ(after["blamed"], Json::parse(R"(["leaf1--spine2"])"));
  EXPECT_LT(after["in_force_seconds"], 1.0);
  EXPECT_EQ(after["bytes_over_link"], 0);
  expect_as_planned(after["sending"]);
  EXPECT_THAT(lab.weft({"lab", "status", "--name", lab.lab}).output, Not(HasSubstr("leaf1--spine2")))
      << "healed at the end";
}

TEST(BalanceLab, WithoutRunItMapsThePathsAndGivesEveryQpItsLabel) {
  const BalanceLab lab(kTwoSpines);
  const auto answer = lab.balance({"--collective", "ring", "--qps", "2"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  expect_matches_schema(answer.output, "assignment");
  int steered = 0;
  const auto document = Json::parse(answer.output);
  for (const auto& qp : document["assignments"])
    if (qp["path"].size() == 4) {
      EXPECT_TRUE(qp["label"].is_number());
      ++steered;
    }
  EXPECT_EQ(steered, 4);
}

TEST(BalanceLab, WhatMakesNoSenseIsRefusedBeforeAPacketIsSent) {
  const BalanceLab lab(kTwoSpines);
  const auto refusal = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--collective", "ring"});
    const auto answer = lab.balance(more);
    EXPECT_EQ(answer.status, 64) << answer.output;
    return answer.errors;
  };
  EXPECT_THAT(refusal({"--run", "--bytes", "100GB"}), HasSubstr("fewer --bytes"));
  EXPECT_THAT(refusal({"--fail", "leaf1--spine1"}), HasSubstr("--fail needs --run"));
  EXPECT_THAT(refusal({"--run", "--fail", "host1--leaf1"}), HasSubstr("only cable"));
  EXPECT_THAT(refusal({"--run", "--fail", "leaf1--spine7"}), HasSubstr("spine7"));
  EXPECT_THAT(refusal({"--weighted"}), HasSubstr("--weighted goes with --fabric"));
  EXPECT_THAT(refusal({"--run", "--engine", "gpu"}), HasSubstr("expected auto, raw, dpdk, verbs"));
  const auto no_device = lab.balance({"--collective", "ring", "--run", "--engine", "verbs"});
  EXPECT_EQ(no_device.status, 69) << no_device.output;
  EXPECT_THAT(no_device.errors, HasSubstr("no host of lab"));
}

}  // namespace
}  // namespace weft
