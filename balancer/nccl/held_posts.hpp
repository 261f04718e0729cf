// HeldPosts: what a program posts to a queue pair while its label changes, kept with all that it points to
// and posted afterwards in the same order, as the send queue has room. It holds as many as that queue;
// nothing is allocated while it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

struct ibv_send_wr;

namespace weft::nccl {

/// Of a send queue (ibv_qp_cap).
struct QueueRoom {
  std::uint32_t posts = 0;
  std::uint32_t pieces = 0;        // of memory, in a post
  std::uint32_t inline_bytes = 0;  // of a post
};

class HeldPosts {
 public:
  explicit HeldPosts(const QueueRoom& room);
  ~HeldPosts();
  HeldPosts(const HeldPosts&) = delete;
  HeldPosts& operator=(const HeldPosts&) = delete;

  /// As ibv_post_send: 0; ENOMEM where it is full, EINVAL for what the send queue would not take, with `bad`
  /// the first that is not taken.
  int take(ibv_send_wr* chain, ibv_send_wr** bad) noexcept;
  std::size_t size() const { return used_; }
  /// Gives each to `post` in order, until that refuses one (not 0); what it said then. That one and those
  /// behind it stay.
  int give(const std::function<int(ibv_send_wr*)>& post);

 private:
  struct Kept;
  QueueRoom room_;
  std::unique_ptr<Kept> kept_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;
};

}  // namespace weft::nccl
