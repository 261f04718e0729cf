// HeldPosts: what a program posts to a queue pair while its label changes, kept with all that it points to
// and posted afterwards in the same order. It has room for as much as the queue pair's send queue, which is
// empty then; nothing is allocated while it takes.
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

  /// As ibv_post_send: 0; ENOMEM where the send queue would be full, EINVAL for what it would not take, with
  /// `bad` the first that is not taken.
  int take(ibv_send_wr* chain, ibv_send_wr** bad) noexcept;
  /// So many posts are in the queue already: it holds that many fewer.
  void leave_room_for(std::uint64_t under_way) noexcept;
  std::size_t size() const { return used_; }
  /// Gives each to `post` in order, until that refuses one (not 0); what it said then.
  int give(const std::function<int(ibv_send_wr*)>& post);

 private:
  struct Kept;
  QueueRoom room_;
  std::uint32_t limit_ = 0;  // posts
  std::unique_ptr<Kept> kept_;
  std::size_t used_ = 0;
};

}  // namespace weft::nccl
