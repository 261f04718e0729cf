// What a stranger may send over a stream: only what has this run's tag is taken, and it is just what was
// sent. Then a true message, damaged where the input says: it is taken only where nothing of it changed.
#include <cstdint>
#include <string>

#include "probes/engine/verbs/message_stream.hpp"
#include "tests/fakes/given_stream.hpp"
#include "topology/base/check.hpp"

namespace {

using namespace weft;

constexpr packet::RunKey kKey{std::byte{7}, std::byte{9}};
constexpr verbs::MessageStream::Tag kAnswered{1, 2, 3};
constexpr std::size_t kChoices = 4;  // bytes of the input before the text

struct Delivery {
  std::size_t piece;
  bool closes;
};

verbs::MessageStream open_stream(const verbs::StreamCalls& calls) {
  auto stream = verbs::MessageStream::connect(calls, IpAddress(IpAddress::V4{127, 0, 0, 1}), 1, {});
  WEFT_CHECK(stream.has_value());
  return std::move(*stream);
}

std::string frame_of(std::string_view text, std::size_t piece) {
  const verbs::StreamCalls calls = GivenStream::calls();
  GivenStream other({}, piece, true);
  WEFT_CHECK(open_stream(calls).send(kKey, text, kAnswered, {}).has_value());
  return other.sent();
}

/// The text, where the bytes are a message of this run.
std::optional<std::string> take(std::string_view bytes, const Delivery& how) {
  const verbs::StreamCalls calls = GivenStream::calls();
  GivenStream other(bytes, how.piece, how.closes);
  const auto stream = open_stream(calls);
  const auto message = stream.receive(kKey, kAnswered, {});
  const auto used = bytes.size() - other.left().size();
  stream.await_end({});
  WEFT_CHECK(other.sent().empty());  // who only listens says nothing
  if (!message) return std::nullopt;
  WEFT_CHECK(frame_of(message->text, how.piece) == bytes.substr(0, used));
  return message->text;
}

void damaged_message(std::string_view text, std::uint8_t where, std::uint8_t change, const Delivery& how) {
  const std::string whole = frame_of(text, how.piece);
  WEFT_CHECK(take(whole, how) == text);
  WEFT_CHECK(!take(whole.substr(0, whole.size() - 1 - where % whole.size()), how));
  std::string damaged = whole;
  damaged[where % damaged.size()] = static_cast<char>(damaged[where % damaged.size()] ^ change);
  WEFT_CHECK(take(damaged, how).has_value() == (change == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoices) return 0;
  const Delivery how{std::size_t{data[0]} + 1, data[1] % 2 == 0};
  const std::string_view rest(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  take(rest, how);
  damaged_message(rest, data[2], data[3], how);
  return 0;
}
