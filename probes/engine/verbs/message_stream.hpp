// Streams between RDMA devices (StreamCalls), and MessageStream: messages over one of them, each with a tag
// that only who has the run's key can make. Every call ends by its deadline.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "probes/packet/run_secrets.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

struct pollfd;
struct sockaddr;

namespace weft::verbs {

/// Streams between two RDMA devices: the calls of librdmacm's rsockets, which are those of sockets under
/// other names, so that tests give the system's own. Loaded when first used, never linked.
struct StreamCalls {
  int (*socket)(int domain, int type, int protocol) = nullptr;
  int (*bind)(int stream, const sockaddr* address, unsigned length) = nullptr;
  int (*listen)(int stream, int backlog) = nullptr;
  int (*accept)(int stream, sockaddr* address, unsigned* length) = nullptr;
  int (*connect)(int stream, const sockaddr* address, unsigned length) = nullptr;
  int (*get_option)(int stream, int level, int name, void* value, unsigned* length) = nullptr;
  int (*set_option)(int stream, int level, int name, const void* value, unsigned length) = nullptr;
  int (*control)(int stream, int command, ...) = nullptr;
  long (*send)(int stream, const void* bytes, unsigned long length, int flags) = nullptr;
  long (*receive)(int stream, void* bytes, unsigned long length, int flags) = nullptr;
  int (*poll)(pollfd* streams, unsigned long count, int milliseconds) = nullptr;
  int (*close)(int stream) = nullptr;
};

/// Of librdmacm. Errors: absent (it is not installed), not_supported (it lacks rsockets).
Result<StreamCalls> load_rdma_streams();

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
  Result<Tag> send(const packet::RunKey& key, std::string_view text, const Tag& answered,
                   Deadline until) const;
  struct Message {
    std::string text;
    Tag tag{};
  };
  /// Errors: invalid_input (a tag that is wrong, a length that makes no sense), timeout, absent (closed).
  Result<Message> receive(const packet::RunKey& key, const Tag& answered, Deadline until) const;
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

}  // namespace weft::verbs
