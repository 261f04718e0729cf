#include "collectors/bus/stream_reader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::bus {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr auto kRequest = std::chrono::seconds(3);
constexpr auto kPullLasts = std::chrono::seconds(10);
constexpr auto kGraceOfPull = std::chrono::seconds(3);
constexpr auto kForgotten = std::chrono::seconds(60);  // by the server, when nobody pulls any more
constexpr std::size_t kBatch = 1024;
constexpr std::uint64_t kBytesOfBatch = 16'000'000;

std::uint64_t number_at(const json& object, const char* group, const char* name) {
  const auto found = object.find(group);
  if (found == object.end() || !found->is_object()) return 0;
  const auto number = found->find(name);
  return number != found->end() && number->is_number_unsigned() ? number->get<std::uint64_t>() : 0;
}

}  // namespace

StreamReader::StreamReader(std::string_view stream, std::string filter, std::string inbox,
                           std::uint64_t behind)
    : stream_(stream), filter_(std::move(filter)), inbox_(std::move(inbox)), position_(behind) {}

void StreamReader::heard(BusMessage message) {
  const std::lock_guard lock(mutex_);
  if (!message.status.empty()) {
    // The end of a pull. 404, 408: nothing (more) came in its time, or its bytes are used up: the next
    // follows. 503, or 409 of a consumer that is gone: it is made again.
    if (message.subject == fmt::format("{}.{}", inbox_, pulls_)) open_ = 0;
    if (message.status == "503") drop_consumer();
  } else if (message.reply.starts_with(fmt::format("$JS.ACK.{}.{}.", stream_, consumer_)) ||
             message.reply.find(fmt::format(".{}.{}.", stream_, consumer_)) != std::string::npos) {
    queue_.push_back(std::move(message));
    if (open_ > 0) --open_;
  }
  changed_.notify_all();
}

void StreamReader::lost() {
  const std::lock_guard lock(mutex_);
  drop_consumer();
  changed_.notify_all();
}

void StreamReader::drop_consumer() {
  consumer_.clear();
  open_ = 0;
  queue_.clear();
}

void StreamReader::move_to(std::uint64_t position) {
  if (position == position_) return;
  const std::lock_guard lock(mutex_);
  drop_consumer();
  position_ = position;
}

Result<void> StreamReader::skip(KeptConnection& connection) {
  WEFT_TRY(const auto stream, ask_jet_stream(connection, "STREAM.INFO." + stream_, "", kRequest));
  move_to(number_at(stream, "state", "last_seq"));
  return {};
}

Result<void> StreamReader::make_consumer(KeptConnection& connection) {
  WEFT_TRY(const auto stream, ask_jet_stream(connection, "STREAM.INFO." + stream_, "", kRequest));
  // A stream that was made anew, on another disk, counts from 1 again.
  if (number_at(stream, "state", "last_seq") < position_) position_ = 0;
  const json wanted{{"stream_name", stream_},
                    {"config",
                     {{"deliver_policy", "by_start_sequence"},
                      {"opt_start_seq", position_ + 1},
                      {"ack_policy", "none"},
                      {"replay_policy", "instant"},
                      {"filter_subject", filter_},
                      {"max_waiting", 8},
                      {"num_replicas", 1},
                      {"mem_storage", true},
                      {"inactive_threshold", Nanoseconds(kForgotten).count()}}}};
  WEFT_TRY(const auto made,
           ask_jet_stream(connection, "CONSUMER.CREATE." + stream_, wanted.dump(), kRequest));
  const auto name = made.find("name");
  if (name == made.end() || !name->is_string())
    return fail(ErrorKind::internal, "the NATS server's answer names no consumer of {}", stream_);
  const std::lock_guard lock(mutex_);
  drop_consumer();
  consumer_ = name->get<std::string>();
  expected_ = 1;
  return {};
}

Result<void> StreamReader::pull(KeptConnection& connection, bool wait, std::size_t most) {
  json request{{"batch", wait ? kBatch : std::min(most, kBatch)}, {"max_bytes", kBytesOfBatch}};
  if (wait) request["expires"] = Nanoseconds(kPullLasts).count();
  if (!wait) request["no_wait"] = true;
  std::string subject;
  {
    const std::lock_guard lock(mutex_);
    subject = fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", stream_, consumer_);
    ++pulls_;
    open_ = request["batch"].get<std::size_t>();
  }
  pulled_at_ = steady_clock::now();
  const auto text = request.dump();
  return connection.publish(subject, std::as_bytes(std::span(text)), fmt::format("{}.{}", inbox_, pulls_));
}

void StreamReader::take(std::vector<StreamMessage>& into, std::size_t most) {
  while (into.size() < most && !queue_.empty()) {
    BusMessage message = std::move(queue_.front());
    queue_.pop_front();
    const auto at = read_pulled_at(message.reply);
    if (!at) continue;
    if (at->count != expected_) return drop_consumer();  // one was lost on the way: again, from the last one
    ++expected_;
    position_ = at->sequence;
    into.push_back({std::move(message.subject), at->sequence, std::move(message.bytes)});
  }
}

Result<std::vector<StreamMessage>> StreamReader::read(KeptConnection& connection, std::size_t most,
                                                      Nanoseconds limit) {
  const bool wait = limit > Nanoseconds(0);
  const auto until = steady_clock::now() + (wait ? limit : Nanoseconds(kRequest));
  std::vector<StreamMessage> read;
  bool pulled = false;  // in this call
  while (true) {
    std::unique_lock lock(mutex_);
    take(read, most);
    const bool ended = pulled && open_ == 0 && !consumer_.empty();
    if (read.size() >= most || (wait ? !read.empty() : ended)) return read;
    const bool dark = open_ > 0 && steady_clock::now() > pulled_at_ + kPullLasts + kGraceOfPull;
    if (dark) drop_consumer();
    const bool no_consumer = consumer_.empty();
    const bool must_pull = no_consumer || open_ == 0 || (!wait && !pulled);
    lock.unlock();
    if (no_consumer) WEFT_TRY_VOID(make_consumer(connection));
    if (must_pull) WEFT_TRY_VOID(pull(connection, wait, most - read.size()));
    pulled = true;
    lock.lock();
    changed_.wait_until(lock, until, [&] { return !queue_.empty() || open_ == 0 || consumer_.empty(); });
    if (steady_clock::now() < until) continue;
    take(read, most);
    if (read.empty() && !wait)
      return fail(ErrorKind::timeout, "the NATS server does not say in time what {} has", stream_);
    return read;
  }
}

}  // namespace weft::bus
