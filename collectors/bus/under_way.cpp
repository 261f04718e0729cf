#include "collectors/bus/under_way.hpp"

#include <utility>

#include "collectors/bus/jet_stream.hpp"

namespace weft::bus {

Result<std::uint64_t> UnderWay::add(watch::MessageId id, std::size_t size, Nanoseconds now) {
  const std::lock_guard lock(mutex_);
  if (sent_.size() >= limits_.windows || (bytes_ + size > limits_.bytes && !sent_.empty()))
    return fail(ErrorKind::conflict, "{} windows ({} bytes) wait for the NATS server's acknowledgement",
                sent_.size(), bytes_);
  bytes_ += size;
  sent_.emplace(++last_number_, Sent{id, size, now + limits_.time});
  return last_number_;
}

void UnderWay::take_back(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::vector<watch::MessageId> nobody;
  if (const auto sent = sent_.find(number); sent != sent_.end()) end(sent, nobody);
}

void UnderWay::answer(std::uint64_t number, bool kept) {
  const std::lock_guard lock(mutex_);
  if (const auto sent = sent_.find(number); sent != sent_.end()) end(sent, kept ? acknowledged_ : failed_);
}

void UnderWay::lose_all() {
  const std::lock_guard lock(mutex_);
  while (!sent_.empty()) end(sent_.begin(), failed_);
}

std::vector<watch::MessageId> UnderWay::acknowledged() {
  const std::lock_guard lock(mutex_);
  return std::exchange(acknowledged_, {});
}

std::vector<watch::MessageId> UnderWay::failed(Nanoseconds now) {
  const std::lock_guard lock(mutex_);
  while (!sent_.empty() && sent_.begin()->second.until <= now) end(sent_.begin(), failed_);
  return std::exchange(failed_, {});
}

void UnderWay::end(At sent, std::vector<watch::MessageId>& among) {
  bytes_ -= sent->second.size;
  among.push_back(sent->second.id);
  sent_.erase(sent);
}

bool is_kept(std::string_view answer, std::string_view stream) {
  const auto ack = read_ack(answer);
  return ack && ack->stream == stream;
}

}  // namespace weft::bus
