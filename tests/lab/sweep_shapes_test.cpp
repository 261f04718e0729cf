// `weft sweep` over fabrics of every shape that a lab can have, and as an ordinary user: each is clean and
// probed in full.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

void expect_clean_and_covered(const char* fabric, std::vector<std::string> before = {}) {
  const LabUser user(fabric, std::move(before));
  const auto up = user.up();
  ASSERT_EQ(up.status, 0) << up.errors;
  const auto document = document_of(
      user.weft({"sweep", "--lab=" + user.lab, "--load", "none", "--budget", "2s", "-o", "json"}));
  expect_healthy_but_for_this_machine(document);
  EXPECT_EQ(document["coverage"]["complete"], true);
  EXPECT_EQ(document["coverage"]["probed"], document["coverage"]["channels"]);
}

TEST(SweepOf, RailsCoversTheNicsOfEveryHost) {
  expect_clean_and_covered(
      "fabric: r\nkind: roce\nrails: {groups: 2, hosts_per_group: 2, rails: 2, spines: 2}\n");
}

TEST(SweepOf, ThreeTiersCoversTheCores) {
  expect_clean_and_covered(
      "fabric: t\nkind: roce\nclos: {pods: 2, leaves: 1, spines: 2, cores: 2, hosts_per_leaf: 1}\n");
}

TEST(SweepOf, Ipv6CoversEveryChannel) {
  expect_clean_and_covered(
      "fabric: v6\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\nlab: {family: ipv6}\n");
}

TEST(SweepOf, AnOrdinaryUsersLabCoversEveryChannel) {
  expect_clean_and_covered("fabric: u\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n",
                           as_nobody());
}

}  // namespace
}  // namespace weft
