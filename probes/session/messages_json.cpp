#include "probes/session/messages_json.hpp"

#include <sodium.h>

#include "probes/session/work_json.hpp"
#include "topology/base/json_members.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/files/json_view.hpp"

namespace weft::json_members {

/// The LIDs where they are known.
template <class Io>
static void members(Io& io, datapath::RunNic& m) {
  io("nic", m.nic);
  io("address", m.address);
  auto base = m.lids ? std::optional(m.lids->base) : std::nullopt;
  auto lmc = m.lids ? std::optional(m.lids->lmc) : std::nullopt;
  io("lid", base);
  io("lmc", lmc);
  if (base.has_value() != lmc.has_value()) throw BadField("one of 'lid' and 'lmc'");
  m.lids = base ? std::optional(LidRange{*base, *lmc}) : std::nullopt;
}

static Json write_json(OneValue, const session::TaskAnswer& answer) { return session::to_json_value(answer); }
static void read_json(OneValue, const Json& from, session::TaskAnswer& into) {
  into = session::answer_from_json(from);
}

}  // namespace weft::json_members

namespace weft::session {

using namespace json_members;

/// A run's key in hexadecimal.
struct KeyText {
  packet::RunKey& key;
};
/// Its own file names its members.
struct InventoryOf {
  HostInventory host;
};
/// What engines say to each other may be long.
struct LongText {
  std::string& text;
};

/// NICs of one host, far more than any has: with a text of 4,096 bytes each they take 4 MB.
constexpr std::size_t kMaxNicsOfHost = 1024;

static Json write_json(OneValue, const KeyText& text) {
  const packet::RunKey& key = text.key;
  std::string hex(key.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  hex.pop_back();
  return hex;
}
static void read_json(OneValue, const Json& from, const KeyText& into) {
  const std::string hex = text(from);
  std::size_t length = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(into.key.data());
  if (sodium_hex2bin(bytes, into.key.size(), hex.data(), hex.size(), nullptr, &length, nullptr) != 0 ||
      length != into.key.size())
    throw BadField("the run's key is not 16 bytes in hexadecimal");
}

static Json write_json(OneValue, const InventoryOf& inventory) {
  return files::host_inventory_value(inventory.host);
}
static void read_json(OneValue, const Json& from, InventoryOf& into) {
  auto inventory = files::host_inventory_from(from);
  if (!inventory) throw BadField(inventory.error().message);
  into.host = std::move(*inventory);
}

static Json write_json(OneValue, const LongText& text) { return text.text; }
static void read_json(OneValue, const Json& from, const LongText& into) {
  into.text = text(from, kMaxMessageBytes);
}

static Json write_json(OneValue, const TaskWork& work) { return to_json_value(work); }
static void read_json(OneValue, const Json& from, TaskWork& into) { into = work_from_json(from); }

template <class Io>
static void members(Io& io, NicAssignment& m) {
  io("interface", m.interface);
  io("nic", m.nic);
  rarely(io, "engine", m.engine);
}
/// Every agent is told of all NICs of the run, on a large fabric thousands: 8,192 take 316,000 bytes as
/// objects and 168,000 as a table.
template <class Io>
static void members(Io& io, StartRun& m) {
  io("key", KeyText{m.secrets.key});
  io("nics", at_most(kMaxNicsOfHost, m.nics));
  io("targets", table(m.targets));
}
template <class Io>
static void members(Io& io, Task& m) {
  io("id", m.id);
  io("nic", m.nic);
  io("limit", m.limit);
  io("work", m.work);
}
template <class Io>
static void members(Io&, StopRun&) {}
template <class Io>
static void members(Io&, Alive&) {}
template <class Io>
static void members(Io& io, Bye& m) {
  io("why", m.why);
}

template <class Io>
static void members(Io& io, NicReport& m) {
  io("interface", m.interface);
  io("address", m.address);
}
template <class Io>
static void members(Io& io, NicOffer& m) {
  io("interface", m.interface);
  rarely(io, "rdma_device", m.rdma_device);
  rarely(io, "why", m.why);
}
/// Of another protocol only who says it: the rest may have another form. The first had no number.
template <class Io>
static void members(Io& io, Hello& m) {
  std::optional<std::uint32_t> protocol = m.protocol;
  io("protocol", protocol);
  m.protocol = protocol.value_or(1);
  io("host", m.host);
  io("version", m.version);
  if (Io::kReads && m.protocol != kProtocol) return;
  io("engine", m.engine);
  io("nics", at_most(kMaxNicsOfHost, m.nics));
  rarely(io, "offers", m.offers);
  if (m.offers.size() > kMaxNicsOfHost) throw BadField("'offers' has more entries than a host has NICs");
}
template <class Io>
static void members(Io& io, NicTrouble& m) {
  io("nic", m.nic);
  io("text", m.text);
  io("of_tool", m.of_tool);
}
template <class Io>
static void members(Io& io, NicUse& m) {
  io("nic", m.nic);
  io("text", m.text);
}
template <class Io>
static void members(Io& io, Ready& m) {
  io("troubles", at_most(kMaxNicsOfHost, m.troubles));
  io("uses", at_most(kMaxNicsOfHost, m.uses));
  auto inventory = m.inventory ? std::optional(InventoryOf{std::move(*m.inventory)}) : std::nullopt;
  io("inventory", inventory);
  m.inventory = inventory ? std::optional(std::move(inventory->host)) : std::nullopt;
}
template <class Io>
static void members(Io& io, TaskResult& m) {
  io("id", m.id);
  io("answer", m.answer);
  io("error", m.error);
  rarely(io, "of_tool", m.of_tool);
}
template <class Io>
static void members(Io& io, PeerQuestion& m) {
  io("from", m.from);
  io("to", m.to);
  io("id", m.id);
  io("text", LongText{m.text});
}
template <class Io>
static void members(Io& io, PeerReply& m) {
  io("from", m.from);
  io("to", m.to);
  io("id", m.id);
  io("failed", m.failed);
  io("text", LongText{m.text});
}

namespace {

// In the order of ToAgent and of ToCoordinator.
constexpr const char* kToAgent[] = {"start", "task", "stop", "alive", "ask", "reply"};
constexpr const char* kToCoordinator[] = {"hello", "ready", "result", "alive", "bye", "ask", "reply"};
static_assert(std::size(kToAgent) == std::variant_size_v<ToAgent>);
static_assert(std::size(kToCoordinator) == std::variant_size_v<ToCoordinator>);

template <class Message>
Message message_from(const char* const* names, const Json& v) {
  return read_kind<Message>(names, text(field(v, "type")), [&v](auto& message) { read_value(v, message); });
}

}  // namespace

static void read_json(OneValue, const Json& from, MessageToAgent& into) {
  read_value(field(from, "run"), into.run);
  into.message = message_from<ToAgent>(kToAgent, from);
  if (auto* start = std::get_if<StartRun>(&into.message)) start->secrets.run = into.run;
}
static void read_json(OneValue, const Json& from, MessageToCoordinator& into) {
  into.message = message_from<ToCoordinator>(kToCoordinator, from);
  if (std::holds_alternative<Hello>(into.message)) return;
  if (from.contains("run"))
    read_value(from["run"], into.run.emplace());
  else if (!std::holds_alternative<Bye>(into.message))
    throw BadField("it does not say which run it is of");
}

namespace {

template <class Message>
std::string encode_any(const char* const* names, std::optional<RunId> run, const Message& message) {
  Json value = std::visit([](const auto& m) { return write_value(m); }, message);
  value["type"] = names[message.index()];
  if (run) value["run"] = run->value();
  return to_text(value);
}

template <class Message>
Result<Message> decode_any(std::string_view text) {
  WEFT_TRY(auto value, parse(text, kMessageLimits, "a message"));
  files::make_harmless(value);
  return read_as<Message>(value, "a message");
}

}  // namespace

std::string encode(const MessageToAgent& sent) { return encode_any(kToAgent, sent.run, sent.message); }
std::string encode(const MessageToCoordinator& sent) {
  return encode_any(kToCoordinator, sent.run, sent.message);
}
Result<MessageToAgent> decode_to_agent(std::string_view text) { return decode_any<MessageToAgent>(text); }
Result<MessageToCoordinator> decode_to_coordinator(std::string_view text) {
  return decode_any<MessageToCoordinator>(text);
}

}  // namespace weft::session
