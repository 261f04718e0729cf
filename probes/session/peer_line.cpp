#include "probes/session/peer_line.hpp"

#include "probes/session/messages_json.hpp"

namespace weft::session {
namespace {

constexpr Nanoseconds kAcknowledged = std::chrono::seconds(1);
constexpr Nanoseconds kAgain = std::chrono::milliseconds(100);

}  // namespace

Result<std::string> PeerLine::ask(PortId to, std::string_view question, Nanoseconds limit) {
  std::unique_lock lock(mutex_);
  const std::uint32_t id = ++last_;
  open_[id];
  lock.unlock();
  const PeerQuestion asked{self_, to, id, std::string(question)};
  const auto bytes = encode(MessageToCoordinator{run_, asked});
  Nanoseconds left = limit;
  const auto is_over = [&] { return closed_ || open_[id].has_value(); };
  lock.lock();
  // Again until the coordinator's bus has it: whom nobody hears is not to be told of as silent.
  while (left > Nanoseconds::zero() && !is_over()) {
    lock.unlock();
    const auto unheard = bus_.deliver({{std::string(kCoordinator), bytes}}, std::min(left, kAcknowledged));
    lock.lock();
    if (!unheard) {
      open_.erase(id);
      return pass_on(unheard);
    }
    if (unheard->empty()) break;
    left -= std::min(left, kAcknowledged + kAgain);
    arrived_.wait_for(lock, kAgain, is_over);
  }
  arrived_.wait_for(lock, left, is_over);
  const auto reply = std::move(open_[id]);
  open_.erase(id);
  if (!reply && closed_) return fail(ErrorKind::conflict, "the run is over");
  if (!reply)
    return fail(ErrorKind::timeout, "no answer within {} s",
                std::chrono::duration_cast<std::chrono::seconds>(limit).count());
  if (reply->failed) return fail(ErrorKind::absent, "{}", reply->text);
  return reply->text;
}

void PeerLine::take(const PeerReply& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(reply.id);
  if (found == open_.end() || found->second) return;
  found->second = reply;
  arrived_.notify_all();
}

void PeerLine::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

}  // namespace weft::session
