#include "probes/engine/verbs/receipt_book.hpp"

#include <gmock/gmock.h>

namespace weft::verbs {
namespace {

using ::testing::ElementsAre;

constexpr PortId kOne(1);
constexpr PortId kOther(2);

TEST(ReceiptBook, HasOneRowOfEachSenderAndSpec) {
  ReceiptBook book;
  for (int i = 0; i < 3; ++i) ++book.row(BatchId(7), kOne, 4).packets;
  ++book.row(BatchId(7), kOther, 4).packets;
  ++book.row(BatchId(8), kOne, 4).packets;
  EXPECT_THAT(
      book.received(BatchId(7)),
      ElementsAre(datapath::ReceivedTally{.batch = BatchId(7), .from = kOne, .spec = 4, .packets = 3},
                  datapath::ReceivedTally{.batch = BatchId(7), .from = kOther, .spec = 4, .packets = 1}));
  EXPECT_TRUE(book.received(BatchId(9)).empty());
}

TEST(ReceiptBook, ASenderOfTooMuchLosesItsOwnOldestBatchesAndNobodyElses) {
  ReceiptBook book(10);
  book.row(BatchId(1), kOther, 0);
  for (std::uint32_t batch = 1; batch <= 4; ++batch)
    for (std::uint32_t spec = 0; spec < 5; ++spec) book.row(BatchId(batch), kOne, spec);
  book.make_room(kOne, BatchId(1));
  EXPECT_EQ(book.received(BatchId(1)).size(), 6u) << "it is in use";
  EXPECT_TRUE(book.received(BatchId(2)).empty());
  EXPECT_TRUE(book.received(BatchId(3)).empty());
  EXPECT_EQ(book.received(BatchId(4)).size(), 5u);
  book.make_room(kOne, BatchId(4));
  EXPECT_EQ(book.received(BatchId(1)).size(), 6u) << "they fit";
}

}  // namespace
}  // namespace weft::verbs
