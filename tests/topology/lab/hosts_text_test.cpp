#include "topology/lab/netns/hosts_text.hpp"

#include <gmock/gmock.h>

#include "topology/model/clos.hpp"

namespace weft::lab {
namespace {

using testing::HasSubstr;

TEST(HostsText, ANodesNameIsItsFirstAddressAndEveryPortHasOne) {
  const Fabric fabric = *make_rails({.groups = 1, .hosts_per_group = 2, .rails = 2, .spines = 1});
  for (const auto family : {IpFamily::v4, IpFamily::v6}) {
    const auto plan = plan_addresses(fabric, family);
    ASSERT_TRUE(plan);
    const auto text = hosts_text(fabric, plan->book);
    const auto of = [&](const char* nic) {
      return to_string(*plan->book.address_of(*fabric.find_port(nic)));
    };
    EXPECT_THAT(text, HasSubstr(of("host2/p1") + " host2 p1.host2\n"));
    EXPECT_THAT(text, HasSubstr("\n" + of("host2/p2") + " p2.host2\n"));
    EXPECT_THAT(text, HasSubstr(" leaf1 p1.leaf1\n"));
  }
}

}  // namespace
}  // namespace weft::lab
