#include "collectors/bus/jet_stream.hpp"

#include <sodium.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <random>

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::bus {
namespace {

using nlohmann::json;

constexpr JsonLimits kAnswer{.bytes = 4'000'000, .depth = 12, .values = 10'000};

// Numbers of the server's errors (JetStream's errors.json).
constexpr int kStreamNotFound = 10059;
constexpr int kNoMessage = 10037;
constexpr int kWrongLastSequence = 10071;
constexpr int kNoResources = 10023;
constexpr int kNoStorage = 10047;

std::optional<json> parse(std::string_view text) {
  auto parsed = json_members::parse(text, kAnswer, "the answer of JetStream");
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return std::move(*parsed);
}

std::uint64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}
std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int error_in(const json& answer) {
  const auto error = answer.find("error");
  if (error == answer.end()) return 0;
  return error->is_object() ? std::max(static_cast<int>(number_in(*error, "err_code")), 1) : 1;
}

/// What to do about an answer that is an error.
tl::unexpected<Error> refusal(const json& answer, std::string_view what) {
  const int code = error_in(answer);
  const auto why =
      answer.contains("error") && answer["error"].is_object() ? text_in(answer["error"], "description") : "";
  if (code == kWrongLastSequence)
    return fail(ErrorKind::conflict, "{}: another message came before ({})", what, outside_text(why));
  if (code == kNoResources || code == kNoStorage)
    return fail(ErrorKind::absent,
                "{}: {}: give the NATS server's JetStream more room (max_file_store), or streams less", what,
                outside_text(why));
  return fail(ErrorKind::internal, "{}: the NATS server says '{}' ({})", what, outside_text(why), code);
}

/// A request of JetStream's API, and its answer, which may be an error of its own.
Result<json> ask(KeptConnection& connection, const std::string& what, std::string_view request,
                 Nanoseconds limit) {
  WEFT_TRY(const auto answer, connection.request("$JS.API." + what, request, limit));
  auto parsed = parse(answer.bytes);
  if (!parsed) return fail(ErrorKind::internal, "the NATS server's answer to {} is no JSON object", what);
  return std::move(*parsed);
}

std::string decode_base64(const std::string& text) {
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
    return {};
  bytes.resize(size);
  return bytes;
}

}  // namespace

Result<PubAck> read_ack(std::string_view answer) {
  const auto parsed = parse(answer);
  if (!parsed) return fail(ErrorKind::internal, "an acknowledgement of JetStream is no JSON object");
  if (error_in(*parsed) != 0) return refusal(*parsed, "a message was not kept");
  const auto duplicate = parsed->find("duplicate");
  return PubAck{text_in(*parsed, "stream"), number_in(*parsed, "seq"),
                duplicate != parsed->end() && duplicate->is_boolean() && duplicate->get<bool>()};
}

Result<json> ask_jet_stream(KeptConnection& connection, const std::string& what, std::string_view request,
                            Nanoseconds limit) {
  WEFT_TRY(const auto answer, ask(connection, what, request, limit));
  if (error_in(answer) != 0) return refusal(answer, what);
  return answer;
}

Result<void> ensure_stream(KeptConnection& connection, const json& configuration, Nanoseconds limit) {
  const auto name = configuration.at("name").get<std::string>();
  WEFT_TRY(const auto there, ask(connection, "STREAM.INFO." + name, "", limit));
  if (error_in(there) == 0) return {};
  if (error_in(there) != kStreamNotFound) return refusal(there, "the stream " + name);
  WEFT_TRY(const auto made, ask(connection, "STREAM.CREATE." + name, configuration.dump(), limit));
  if (error_in(made) != 0) return refusal(made, "the stream " + name + " cannot be made");
  return {};
}

Result<PubAck> publish_expecting(KeptConnection& connection, std::string_view stream,
                                 const std::string& subject, std::uint64_t last, const std::string& id,
                                 std::string_view bytes, Nanoseconds limit) {
  const Headers headers{{"Nats-Msg-Id", id},
                        {"Nats-Expected-Stream", std::string(stream)},
                        {"Nats-Expected-Last-Subject-Sequence", std::to_string(last)}};
  auto answer = connection.request(subject, bytes, limit / 2, headers);
  if (!answer && answer.error().kind == ErrorKind::timeout)
    answer = connection.request(subject, bytes, limit / 2, headers);
  if (!answer) return pass_on(answer);
  return read_ack(answer->bytes);
}

namespace {

Result<std::optional<StreamMessage>> get_message(KeptConnection& connection, std::string_view stream,
                                                 const std::string& subject, const json& which,
                                                 Nanoseconds limit) {
  WEFT_TRY(const auto answer, ask(connection, fmt::format("STREAM.MSG.GET.{}", stream), which.dump(), limit));
  if (error_in(answer) == kNoMessage) return std::optional<StreamMessage>();
  if (error_in(answer) != 0) return refusal(answer, subject);
  const auto message = answer.find("message");
  if (message == answer.end() || !message->is_object())
    return fail(ErrorKind::internal, "the NATS server's answer about {} has no message", subject);
  return StreamMessage{text_in(*message, "subject"), number_in(*message, "seq"),
                       decode_base64(text_in(*message, "data"))};
}

}  // namespace

Result<std::optional<StreamMessage>> last_message(KeptConnection& connection, std::string_view stream,
                                                  const std::string& subject, Nanoseconds limit) {
  return get_message(connection, stream, subject, {{"last_by_subj", subject}}, limit);
}

Result<std::optional<StreamMessage>> next_message(KeptConnection& connection, std::string_view stream,
                                                  const std::string& subject, std::uint64_t sequence,
                                                  Nanoseconds limit) {
  return get_message(connection, stream, subject, {{"seq", sequence + 1}, {"next_by_subj", subject}}, limit);
}

std::string random_id() {
  std::random_device draw;
  return fmt::format("{:08x}{:08x}", draw(), draw());
}

std::optional<PulledAt> read_pulled_at(std::string_view subject) {
  std::vector<std::string_view> tokens;
  for (std::size_t begin = 0; begin <= subject.size();) {
    const auto end = std::min(subject.find('.', begin), subject.size());
    tokens.push_back(subject.substr(begin, end - begin));
    begin = end + 1;
  }
  if (tokens.size() < 9 || tokens[0] != "$JS" || tokens[1] != "ACK") return std::nullopt;
  const std::size_t first = tokens.size() == 9 ? 5 : 7;
  if (tokens.size() < first + 4) return std::nullopt;
  PulledAt at;
  for (const auto& [token, into] :
       {std::pair(tokens[first], &at.sequence), std::pair(tokens[first + 1], &at.count),
        std::pair(tokens[first + 3], &at.pending)}) {
    const auto* end = token.data() + token.size();
    const auto read = std::from_chars(token.data(), end, *into);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  }
  return at;
}

}  // namespace weft::bus
