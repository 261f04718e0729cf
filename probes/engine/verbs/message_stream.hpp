// MessageStream: messages over one stream of StreamCalls, each with a tag that only who has the run's key can
// make. Every call ends by its deadline.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "probes/engine/verbs/stream_calls.hpp"
#include "probes/packet/run_secrets.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft {

class MessageStream {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using Tag = std::array<unsigned char, 16>;

  /// `calls` outlives it. Errors: absent (nobody there answers), timeout.
  static Result<MessageStream> connect(const StreamCalls& calls, const IpAddress& to, std::uint16_t port,
                                       Deadline until);
  /// Takes connections; `take` gives the next one, or nothing within `limit`.
  static Result<MessageStream> listen(const StreamCalls& calls, const IpAddress& at, std::uint16_t port);
  Result<std::optional<MessageStream>> take(std::chrono::milliseconds limit) const;

  MessageStream(MessageStream&& other) noexcept;
  MessageStream& operator=(MessageStream&&) = delete;
  ~MessageStream();

  /// The tag is over the text and over `answered`, the tag of the message this one answers.
  Result<Tag> send(const RunKey& key, std::string_view text, const Tag& answered, Deadline until) const;
  struct Message {
    std::string text;
    Tag tag{};
  };
  /// Errors: invalid_input (a tag that is wrong, a length that makes no sense), timeout, absent (closed).
  Result<Message> receive(const RunKey& key, const Tag& answered, Deadline until) const;
  /// Waits until the other side has closed.
  void await_end(Deadline until) const;

 private:
  MessageStream(const StreamCalls& calls, int stream) : calls_(&calls), stream_(stream) {}
  Result<void> await(short events, Deadline until) const;
  Result<void> send_all(std::string_view bytes, Deadline until) const;
  Result<std::string> receive_all(std::size_t length, Deadline until) const;
  const StreamCalls* calls_;
  int stream_;
};

}  // namespace weft
