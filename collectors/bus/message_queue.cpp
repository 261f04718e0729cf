#include "collectors/bus/message_queue.hpp"

namespace weft::bus {
namespace {

constexpr std::size_t kCost = 1000;  // of a message beside its bytes

std::size_t cost_of(const session::Incoming& message) { return kCost + message.bytes.size(); }

}  // namespace

bool MessageQueue::add(session::Incoming message) {
  const std::size_t cost = cost_of(message);
  const auto of_sender = kept_of_.find(message.from);
  const std::size_t before = of_sender == kept_of_.end() ? 0 : of_sender->second;
  if (before + cost > limits_.of_sender || kept_ + cost > limits_.in_all) return false;
  kept_of_[message.from] = before + cost;
  kept_ += cost;
  messages_.push_back(std::move(message));
  return true;
}

std::optional<session::Incoming> MessageQueue::take() {
  if (messages_.empty()) return std::nullopt;
  session::Incoming first = std::move(messages_.front());
  messages_.pop_front();
  const std::size_t cost = cost_of(first);
  kept_ -= cost;
  const auto of_sender = kept_of_.find(first.from);
  of_sender->second -= cost;
  if (of_sender->second == 0) kept_of_.erase(of_sender);
  return first;
}

}  // namespace weft::bus
