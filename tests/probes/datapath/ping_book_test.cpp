#include "probes/datapath/ping_book.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::datapath {
namespace {

/// Which spec each packet of such a request is of, in the order in which they go.
std::vector<std::uint32_t> order_of(const std::vector<std::uint32_t>& counts) {
  PingRequest request{.batch = BatchId(1), .peers = {{PortId(2), *IpAddress::parse("10.0.0.2")}}};
  for (const std::uint32_t count : counts) request.specs.push_back({.peer = 0, .count = count});
  PingBook book(request);
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> sent(counts.size(), 0);
  while (const auto probe = book.next()) {
    EXPECT_EQ(probe->sequence, sent[probe->spec]++) << "of spec " << probe->spec;
    order.push_back(probe->spec);
  }
  EXPECT_EQ(sent, counts);
  return order;
}

TEST(PingBook, SpecsOfAsManyPacketsTakeTurns) {
  EXPECT_EQ(order_of({2, 2, 2}), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(order_of({}).empty());
  EXPECT_TRUE(order_of({0, 0}).empty());
}

TEST(PingBook, ASpecOfFewPacketsSendsOverTheWholeTime) {
  const auto order = order_of({1000, 50, 3, 1000, 50});
  for (const std::uint32_t spec : {1u, 4u}) {
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < order.size(); ++at)
      if (order[at] == spec) places.push_back(at);
    EXPECT_LE(places.front(), 43u) << "in the first fiftieth, of " << order.size();
    EXPECT_GE(places.back(), order.size() - 43);
    for (std::size_t i = 1; i < places.size(); ++i)
      EXPECT_NEAR(static_cast<double>(places[i] - places[i - 1]), 42.0, 3.0);
  }
}

}  // namespace
}  // namespace weft::datapath
