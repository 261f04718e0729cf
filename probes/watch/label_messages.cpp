#include "probes/watch/label_messages.hpp"

#include <algorithm>

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::watch {

using namespace json_members;

namespace {

// The header, big endian: magic 8, protocol 4, zero 4, id 8.
constexpr std::uint64_t kMagic = 0x776566746C72652Aull;  // "weftlre*"
constexpr std::size_t kProtocolAt = 8;
constexpr std::size_t kIdAt = 16;
constexpr std::size_t kHeader = 24;

constexpr JsonLimits kAnswerLimits{8192, 2, 16};
constexpr std::size_t kMaxReason = 1024;
/// An escape is longer than the piece of a character that a cut leaves.
constexpr std::size_t kMaxCut = kMaxReason - 24;

bool is_request(ByteSpan bytes) { return bytes.size() >= kHeader && load_be64(bytes, 0) == kMagic; }

}  // namespace

/// Why a list is not taken: it is shown to people.
struct Reason {
  std::string& text;
};
static Json write_json(OneValue, const Reason& reason) { return reason.text; }
static void read_json(OneValue, const Json& from, const Reason& into) {
  into.text = text(from, kMaxReason);
  if (!is_harmless(into.text)) throw BadField("a text that cannot be shown");
}

template <class Io>
static void members(Io& io, LabelAnswer& m) {
  io("protocol", m.protocol);
  io("id", m.id);
  io("generation", m.generation);
  io("refused", Reason{m.refused});
}

Result<std::vector<std::byte>> encode_request(const LabelRequest& request) {
  std::vector<std::byte> bytes(kHeader + request.list.size());
  if (bytes.size() > kMaxLabelRequest)
    return fail(ErrorKind::invalid_input, "labels of {} bytes for one host: at most {}", request.list.size(),
                kMaxLabelRequest - kHeader);
  store_be64(bytes, 0, kMagic);
  store_be32(bytes, kProtocolAt, kLabelProtocol);
  store_be64(bytes, kIdAt, request.id);
  std::ranges::copy(request.list, bytes.begin() + kHeader);
  return bytes;
}

std::optional<std::uint64_t> peek_request_id(ByteSpan bytes) {
  return is_request(bytes) ? std::optional(load_be64(bytes, kIdAt)) : std::nullopt;
}

Result<LabelRequest> decode_request(ByteSpan bytes) {
  if (!is_request(bytes)) return fail(ErrorKind::invalid_input, "no request of an operator");
  if (const auto protocol = load_be32(bytes, kProtocolAt); protocol != kLabelProtocol)
    return fail(ErrorKind::invalid_input,
                "a request of protocol {}, and this agent speaks {}: use the same version of weft", protocol,
                kLabelProtocol);
  if (bytes.size() > kMaxLabelRequest)
    return fail(ErrorKind::invalid_input, "a request of {} bytes: at most {}", bytes.size(),
                kMaxLabelRequest);
  const auto list = bytes.subspan(kHeader);
  return LabelRequest{load_be64(bytes, kIdAt), {list.begin(), list.end()}};
}

std::string answer_text(const LabelAnswer& answer) {
  auto shown = answer;
  shown.refused = outside_text(shown.refused);
  if (shown.refused.size() > kMaxReason) shown.refused = outside_text(shown.refused.substr(0, kMaxCut));
  return to_text(write_value(shown));
}

Result<LabelAnswer> read_answer(std::string_view said) {
  WEFT_TRY(auto answer, json_members::read_text<LabelAnswer>(said, kAnswerLimits, "an agent's answer"));
  if (answer.protocol != kLabelProtocol)
    return fail(ErrorKind::invalid_input, "an answer of protocol {}, and this program speaks {}",
                answer.protocol, kLabelProtocol);
  return answer;
}

}  // namespace weft::watch
