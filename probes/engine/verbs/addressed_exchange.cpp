#include "probes/engine/verbs/addressed_exchange.hpp"

#include <algorithm>
#include <charconv>

namespace weft::verbs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kMaxQuestion{3};  // to come in: others wait meanwhile
constexpr std::chrono::seconds kMaxAnswer{10};   // to go out
constexpr std::chrono::seconds kMaxGoodbye{1};
constexpr char kFailed = '!';
constexpr char kAnswered = '=';

}  // namespace

std::string encode_addressed(const AddressedQuestion& question) {
  return fmt::format("{} {}", question.from.value(), question.text);
}

std::optional<AddressedQuestion> decode_addressed(std::string_view message) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), number);
  if (error != std::errc{} || end == message.data() + message.size() || *end != ' ') return std::nullopt;
  return AddressedQuestion{PortId(number),
                           message.substr(static_cast<std::size_t>(end - message.data()) + 1)};
}

Result<std::unique_ptr<AddressedExchange>> AddressedExchange::open(const StreamCalls& calls,
                                                                   const IpAddress& own, PortId self,
                                                                   const packet::RunKey& key,
                                                                   datapath::SharedNics nics, Answer answer,
                                                                   std::uint16_t port) {
  std::unique_ptr<AddressedExchange> made(
      new AddressedExchange(calls, self, key, std::move(nics), std::move(answer), port));
  WEFT_TRY(auto listener, MessageStream::listen(made->calls_, own, port));
  made->listener_.emplace(std::move(listener));
  made->thread_ = std::jthread([raw = made.get()](const std::stop_token& stop) { raw->serve(stop); });
  return made;
}

Result<std::string> AddressedExchange::ask(PortId to, std::string_view question, Nanoseconds limit) {
  const datapath::RunNic* nic = nics_ ? nics_->find(to) : nullptr;
  if (nic == nullptr) return fail(ErrorKind::internal, "nobody said where NIC {} is", to.value());
  const IpAddress& address = nic->address;
  const auto until = Clock::now() + limit;
  WEFT_TRY(const auto stream, MessageStream::connect(calls_, address, port_, until));
  const auto text = encode_addressed({self_, question});
  const auto asked = stream.send(key_, text, {}, until);
  if (!asked) return pass_on(asked, to_string(address));
  auto answer = stream.receive(key_, *asked, until);
  if (!answer) return pass_on(answer, to_string(address));
  if (answer->text.empty() || answer->text[0] != kAnswered)
    return fail(ErrorKind::absent, "{}", answer->text.substr(std::min<std::size_t>(1, answer->text.size())));
  return answer->text.substr(1);
}

void AddressedExchange::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto stream = listener_->take(kLook);
    if (!stream)  // one that could not be taken does not end the listening
      std::this_thread::sleep_for(kLook);
    else if (*stream)
      serve_one(**stream);
  }
}

void AddressedExchange::serve_one(const MessageStream& stream) const {
  const auto message = stream.receive(key_, {}, Clock::now() + kMaxQuestion);
  if (!message) return;  // a stranger gets no answer
  const auto question = decode_addressed(message->text);
  if (!question) return;
  const auto answer = answer_(question->from, question->text);
  const std::string text = answer ? kAnswered + *answer : kFailed + answer.error().message;
  if (stream.send(key_, text, message->tag, Clock::now() + kMaxAnswer))
    stream.await_end(Clock::now() + kMaxGoodbye);
}

}  // namespace weft::verbs
