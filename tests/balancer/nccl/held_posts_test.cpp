// Posts that wait while a label changes: in order, with their bytes, as the send queue has room.
#include "balancer/nccl/held_posts.hpp"

#include <gmock/gmock.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

namespace weft::nccl {
namespace {

using testing::ElementsAre;

constexpr QueueRoom kRoom{.posts = 3, .pieces = 2, .inline_bytes = 8};

/// A post of one piece, and of the number that it is.
struct Post {
  explicit Post(std::uint64_t number, unsigned flags = 0) : value(number) {
    piece = {reinterpret_cast<std::uintptr_t>(&value), sizeof value, 0};
    request.wr_id = number;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.send_flags = flags;
  }
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  std::uint64_t value;
  ibv_sge piece{};
  ibv_send_wr request{};
};

/// The numbers that a device took, which has room for `most`.
std::vector<std::uint64_t> given(HeldPosts& held, std::size_t most, int refusal = ENOMEM) {
  std::vector<std::uint64_t> took;
  const int error = held.give([&](ibv_send_wr* post) {
    if (took.size() == most) return refusal;
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(post->sg_list[0].addr), sizeof value);
    EXPECT_EQ(value, post->wr_id);
    took.push_back(value);
    return 0;
  });
  EXPECT_EQ(error, held.size() == 0 ? 0 : refusal);
  return took;
}

TEST(HeldPosts, GivesInOrderAndKeepsWhatIsRefused) {
  HeldPosts held(kRoom);
  Post first(1);
  Post second(2);
  Post third(3);
  first.request.next = &second.request;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(held.take(&first.request, &bad), 0);
  EXPECT_EQ(held.take(&third.request, &bad), 0);
  EXPECT_THAT(given(held, 1), ElementsAre(1));
  EXPECT_EQ(held.size(), 2u);
  // What comes meanwhile stands behind, in the place that became free.
  Post fourth(4);
  EXPECT_EQ(held.take(&fourth.request, &bad), 0);
  EXPECT_THAT(given(held, 2), ElementsAre(2, 3));
  EXPECT_THAT(given(held, 2), ElementsAre(4));
}

TEST(HeldPosts, SaysWhichOfAChainFindsNoRoom) {
  HeldPosts held(kRoom);
  std::vector<std::unique_ptr<Post>> posts;
  for (std::uint64_t i = 1; i <= 4; ++i) posts.push_back(std::make_unique<Post>(i));
  for (std::size_t i = 0; i < 3; ++i) posts[i]->request.next = &posts[i + 1]->request;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(held.take(&posts[0]->request, &bad), ENOMEM);
  EXPECT_EQ(bad, &posts[3]->request);
  EXPECT_THAT(given(held, 4), ElementsAre(1, 2, 3));
}

TEST(HeldPosts, CopiesInlineBytesAndRefusesMoreThanTheQueueTakes) {
  HeldPosts held(kRoom);
  ibv_send_wr* bad = nullptr;
  Post copied(7, IBV_SEND_INLINE);
  EXPECT_EQ(held.take(&copied.request, &bad), 0);
  copied.value = 0;
  Post large(8, IBV_SEND_INLINE);
  large.piece.length = 9;
  EXPECT_EQ(held.take(&large.request, &bad), EINVAL);
  EXPECT_EQ(bad, &large.request);
  Post many(9);
  many.request.num_sge = 3;
  EXPECT_EQ(held.take(&many.request, &bad), EINVAL);
  EXPECT_THAT(given(held, 2), ElementsAre(7));
}

}  // namespace
}  // namespace weft::nccl
