#include "probes/engine/verbs/message_stream.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/rdma/verbs_library.hpp"

namespace weft::verbs {
namespace {

constexpr std::uint32_t kMax = 1 << 20;
constexpr std::size_t kHeader = 4 + sizeof(MessageStream::Tag);
constexpr int kBacklog = 64;

struct SocketAddress {
  sockaddr_storage storage{};
  unsigned length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpAddress& address, std::uint16_t port) {
  SocketAddress made;
  if (address.is_v6()) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes().data(), sizeof v6.sin6_addr);
    std::memcpy(&made.storage, &v6, sizeof v6);
    made.length = sizeof v6;
    return made;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  std::memcpy(&v4.sin_addr, address.v4().data(), sizeof v4.sin_addr);
  std::memcpy(&made.storage, &v4, sizeof v4);
  made.length = sizeof v4;
  return made;
}

MessageStream::Tag tag_of(const packet::RunKey& key, std::string_view text,
                          const MessageStream::Tag& answered) {
  MessageStream::Tag tag{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size(), tag.size());
  crypto_generichash_update(&state, answered.data(), answered.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  crypto_generichash_final(&state, tag.data(), tag.size());
  return tag;
}

int milliseconds_until(MessageStream::Deadline until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINPROGRESS; }

}  // namespace

MessageStream::MessageStream(MessageStream&& other) noexcept
    : calls_(other.calls_), stream_(std::exchange(other.stream_, -1)) {}

MessageStream::~MessageStream() {
  if (stream_ >= 0) calls_->close(stream_);
}

Result<void> MessageStream::await(short events, Deadline until) const {
  pollfd waiting{stream_, events, 0};
  const int ready = calls_->poll(&waiting, 1, milliseconds_until(until));
  if (ready > 0) return {};
  if (ready == 0) return fail(ErrorKind::timeout, "a stream of librdmacm moved nothing in time");
  return fail(ErrorKind::absent, "a stream of librdmacm broke: {}", std::strerror(errno));
}

Result<MessageStream> MessageStream::connect(const StreamCalls& calls, const IpAddress& to,
                                             std::uint16_t port, Deadline until) {
  MessageStream stream(calls, calls.socket(to.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
  const auto refused = [&](int error) {
    return fail(ErrorKind::absent, "no stream of librdmacm to {}: {}", to_string(to), std::strerror(error));
  };
  if (stream.stream_ < 0) return refused(errno);
  calls.control(stream.stream_, F_SETFL, O_NONBLOCK);
  const SocketAddress address = socket_address(to, port);
  if (calls.connect(stream.stream_, address.get(), address.length) != 0) {
    if (!would_wait(errno)) return refused(errno);
    if (const auto ready = stream.await(POLLOUT, until); !ready) return pass_on(ready, to_string(to));
  }
  int error = 0;
  unsigned length = sizeof error;
  calls.get_option(stream.stream_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return refused(error);
  return stream;
}

Result<MessageStream> MessageStream::listen(const StreamCalls& calls, const IpAddress& at,
                                            std::uint16_t port) {
  MessageStream stream(calls, calls.socket(at.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
  const SocketAddress address = socket_address(at, port);
  const int again = 1;  // an agent that was here a minute ago must not stand in the way of this one
  if (stream.stream_ >= 0) calls.set_option(stream.stream_, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  if (stream.stream_ < 0 || calls.bind(stream.stream_, address.get(), address.length) != 0 ||
      calls.listen(stream.stream_, kBacklog) != 0) {
    if (errno == EADDRINUSE)  // no fault of the NIC
      return fail(
          ErrorKind::conflict,
          "{} port {} is taken: is another run of weft using this NIC by --exchange rdmacm? Wait for its end",
          to_string(at), port);
    return fail(ErrorKind::absent, "librdmacm takes no streams at {} port {}: {}", to_string(at), port,
                std::strerror(errno));
  }
  calls.control(stream.stream_, F_SETFL, O_NONBLOCK);
  return stream;
}

Result<std::optional<MessageStream>> MessageStream::take(std::chrono::milliseconds limit) const {
  pollfd waiting{stream_, POLLIN, 0};
  const int ready = calls_->poll(&waiting, 1, static_cast<int>(limit.count()));
  if (ready < 0 && errno != EINTR)
    return fail(ErrorKind::absent, "librdmacm: poll: {}", std::strerror(errno));
  if (ready <= 0) return std::optional<MessageStream>();
  const int taken = calls_->accept(stream_, nullptr, nullptr);
  if (taken < 0 && would_wait(errno)) return std::optional<MessageStream>();
  if (taken < 0) return fail(ErrorKind::absent, "librdmacm takes no more streams: {}", std::strerror(errno));
  calls_->control(taken, F_SETFL, O_NONBLOCK);
  return std::optional<MessageStream>(MessageStream(*calls_, taken));
}

Result<void> MessageStream::send_all(std::string_view bytes, Deadline until) const {
  while (!bytes.empty()) {
    const long sent = calls_->send(stream_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent == 0 || !would_wait(errno))
      return fail(ErrorKind::absent, "a stream of librdmacm broke: {}", std::strerror(errno));
    if (const auto ready = await(POLLOUT, until); !ready) return ready;
  }
  return {};
}

Result<std::string> MessageStream::receive_all(std::size_t length, Deadline until) const {
  std::string bytes(length, '\0');
  std::size_t have = 0;
  while (have < length) {
    const long got = calls_->receive(stream_, bytes.data() + have, length - have, 0);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      continue;
    }
    if (got == 0) return fail(ErrorKind::absent, "the peer closed its stream of librdmacm");
    if (!would_wait(errno))
      return fail(ErrorKind::absent, "a stream of librdmacm broke: {}", std::strerror(errno));
    WEFT_TRY_VOID(await(POLLIN, until));
  }
  return bytes;
}

Result<MessageStream::Tag> MessageStream::send(const packet::RunKey& key, std::string_view text,
                                               const Tag& answered, Deadline until) const {
  const Tag tag = tag_of(key, text, answered);
  std::string frame;
  const auto length = static_cast<std::uint32_t>(text.size());
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(length >> shift & 0xFFU);
  frame.append(tag.begin(), tag.end());
  frame += text;
  if (text.size() > kMax)
    return fail(ErrorKind::invalid_input, "a message of {} bytes is too long", text.size());
  WEFT_TRY_VOID(send_all(frame, until));
  return tag;
}

Result<MessageStream::Message> MessageStream::receive(const packet::RunKey& key, const Tag& answered,
                                                      Deadline until) const {
  WEFT_TRY(const auto header, receive_all(kHeader, until));
  std::uint32_t length = 0;
  for (int i = 0; i < 4; ++i) length = length << 8U | static_cast<unsigned char>(header[i]);
  if (length > kMax) return fail(ErrorKind::invalid_input, "a peer announces {} bytes", length);
  WEFT_TRY(auto text, receive_all(length, until));
  Message message{std::move(text), {}};
  std::copy(header.begin() + 4, header.end(), message.tag.begin());
  const Tag right = tag_of(key, message.text, answered);
  if (sodium_memcmp(right.data(), message.tag.data(), right.size()) != 0)
    return fail(ErrorKind::invalid_input, "a message that is not of this run");
  return message;
}

void MessageStream::await_end(Deadline until) const { (void)receive_all(1, until); }

Result<StreamCalls> load_rdma_streams() {
  void* lib = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);  // stays: it has threads of its own
  if (lib == nullptr)
    return fail(ErrorKind::not_supported, "--exchange rdmacm: {}; install the package librdmacm1", dlerror());
  StreamCalls calls;
  const bool all =
      rdma::find_symbol(lib, "rsocket", calls.socket) && rdma::find_symbol(lib, "rbind", calls.bind) &&
      rdma::find_symbol(lib, "rlisten", calls.listen) && rdma::find_symbol(lib, "raccept", calls.accept) &&
      rdma::find_symbol(lib, "rconnect", calls.connect) &&
      rdma::find_symbol(lib, "rgetsockopt", calls.get_option) &&
      rdma::find_symbol(lib, "rsetsockopt", calls.set_option) &&
      rdma::find_symbol(lib, "rfcntl", calls.control) && rdma::find_symbol(lib, "rsend", calls.send) &&
      rdma::find_symbol(lib, "rrecv", calls.receive) && rdma::find_symbol(lib, "rpoll", calls.poll) &&
      rdma::find_symbol(lib, "rclose", calls.close);
  if (!all) return fail(ErrorKind::not_supported, "--exchange rdmacm: {}", dlerror());
  return calls;
}

}  // namespace weft::verbs
