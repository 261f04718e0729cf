#include "balancer/nccl/held_posts.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weft::nccl {
namespace {

// Of a device that says nonsense: a send queue has 32,768 entries on a ConnectX-7 (max_qp_wr), 30 pieces.
constexpr std::uint32_t kMaxPosts = 32'768;
constexpr std::uint32_t kMaxPieces = 64;
constexpr std::uint32_t kMaxInline = 4096;

}  // namespace

struct HeldPosts::Kept {
  std::vector<ibv_send_wr> posts;
  std::vector<ibv_sge> pieces;         // room_.pieces of each
  std::vector<std::byte> inline_data;  // room_.inline_bytes of each
};

HeldPosts::HeldPosts(const QueueRoom& room)
    : room_{std::clamp<std::uint32_t>(room.posts, 1, kMaxPosts),
            std::clamp<std::uint32_t>(room.pieces, 1, kMaxPieces), std::min(room.inline_bytes, kMaxInline)},
      kept_(std::make_unique<Kept>()) {
  kept_->posts.resize(room_.posts);
  kept_->pieces.resize(std::size_t{room_.posts} * room_.pieces);
  kept_->inline_data.resize(std::size_t{room_.posts} * room_.inline_bytes);
}

HeldPosts::~HeldPosts() = default;

int HeldPosts::take(ibv_send_wr* chain, ibv_send_wr** bad) noexcept {
  for (ibv_send_wr* post = chain; post != nullptr; post = post->next) {
    if (bad != nullptr) *bad = post;
    if (used_ == room_.posts) return ENOMEM;
    const std::size_t at = (first_ + used_) % room_.posts;
    if (post->num_sge < 0 || static_cast<std::uint32_t>(post->num_sge) > room_.pieces) return EINVAL;
    ibv_sge* pieces = &kept_->pieces[at * room_.pieces];
    std::copy_n(post->sg_list, post->num_sge, pieces);
    ibv_send_wr& copy = kept_->posts[at];
    copy = *post;
    copy.next = nullptr;
    copy.sg_list = pieces;
    if ((post->send_flags & IBV_SEND_INLINE) != 0) {
      // The program may write over it as soon as it was posted.
      std::byte* const data = kept_->inline_data.data() + at * room_.inline_bytes;
      std::size_t size = 0;
      for (int i = 0; i < post->num_sge; ++i) {
        if (pieces[i].length > room_.inline_bytes - size) return EINVAL;
        std::memcpy(data + size, std::bit_cast<const void*>(pieces[i].addr), pieces[i].length);
        pieces[i].addr = reinterpret_cast<std::uintptr_t>(data + size);
        size += pieces[i].length;
      }
    }
    ++used_;
  }
  if (bad != nullptr) *bad = nullptr;
  return 0;
}

int HeldPosts::give(const std::function<int(ibv_send_wr*)>& post) {
  for (; used_ > 0; --used_, first_ = (first_ + 1) % room_.posts)
    if (const int error = post(&kept_->posts[first_]); error != 0) return error;
  return 0;
}

}  // namespace weft::nccl
