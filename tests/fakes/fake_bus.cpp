#include "tests/fakes/fake_bus.hpp"

#include "topology/base/check.hpp"

namespace weft::fakes {
namespace {

tl::unexpected<Error> lost() { return fail(ErrorKind::absent, "the connection is lost"); }

}  // namespace

void FakeBus::comes(std::string from, std::string bytes) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(from), std::move(bytes)});
  arrived_.notify_one();
}

void FakeBus::lose_connection() {
  const std::lock_guard lock(mutex_);
  lost_ = true;
  arrived_.notify_one();
}

std::vector<session::ToCoordinator> FakeBus::said() const {
  std::vector<session::ToCoordinator> messages;
  for (const auto& [run, message] : said_of_runs()) messages.push_back(message);
  return messages;
}

std::vector<session::MessageToCoordinator> FakeBus::said_of_runs() const {
  const std::lock_guard lock(mutex_);
  return said_;
}

Result<bool> FakeBus::carry(std::string_view to, std::string_view bytes) {
  WEFT_CHECK(to == session::kCoordinator);
  const auto message = session::decode_to_coordinator(bytes);
  WEFT_CHECK(message.has_value());
  const std::lock_guard one(answering_);
  if (loses(message->message)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return lost();
    said_.push_back(*message);
  }
  for (const session::ToAgent& answer : coordinator(message->message)) {
    if (const auto* start = std::get_if<session::StartRun>(&answer)) run_ = start->secrets.run;
    comes(std::string(session::kCoordinator), encode(session::MessageToAgent{run_, answer}));
  }
  return true;
}

Result<void> FakeBus::send(std::string_view to, std::string_view bytes) {
  WEFT_TRY_VOID(carry(to, bytes));
  return {};
}

Result<std::vector<session::OutgoingMessage>> FakeBus::deliver(std::vector<session::OutgoingMessage> messages,
                                                               Nanoseconds) {
  std::vector<session::OutgoingMessage> left;
  for (session::OutgoingMessage& message : messages) {
    WEFT_TRY(const bool came, carry(message.to, message.bytes));
    if (!came) left.push_back(std::move(message));
  }
  return left;
}

Result<std::optional<session::Incoming>> FakeBus::receive(Nanoseconds limit) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, limit, [this] { return lost_ || !waiting_.empty(); });
  if (lost_) return lost();
  if (waiting_.empty()) return std::optional<session::Incoming>();
  std::optional<session::Incoming> first(std::move(waiting_.front()));
  waiting_.pop_front();
  return first;
}

}  // namespace weft::fakes
