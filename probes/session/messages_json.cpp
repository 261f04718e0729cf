#include "probes/session/messages_json.hpp"

#include <sodium.h>

#include "probes/session/json_fields.hpp"
#include "probes/session/work_json.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/files/json_view.hpp"

namespace weft {
namespace {

using namespace json_fields;

std::string key_text(const RunKey& key) {
  std::string hex(key.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  hex.pop_back();
  return hex;
}

RunKey key_from(const std::string& hex) {
  RunKey key{};
  std::size_t length = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(key.data());
  if (sodium_hex2bin(bytes, key.size(), hex.data(), hex.size(), nullptr, &length, nullptr) != 0 ||
      length != key.size())
    throw BadField("the run's key is not 16 bytes in hexadecimal");
  return key;
}

/// The LIDs where they are known: the base, the LMC.
Json target_json(const RunNic& m) {
  Json row = Json::array({m.nic.value(), to_string(m.address)});
  if (m.lids) row.insert(row.end(), {m.lids->base.value(), m.lids->lmc});
  return row;
}
RunNic target_from(const Json& row) {
  RunNic nic{id<PortId>(element(row, 0)), address(element(row, 1))};
  if (row.size() > 2) nic.lids = LidRange{id<Lid>(element(row, 2)), whole<std::uint8_t>(element(row, 3))};
  return nic;
}

Json message_json(const StartRun& m) {
  const auto nic = [](const NicAssignment& n) { return Json::array({n.interface, n.nic.value()}); };
  return {{"type", "start"},
          {"key", key_text(m.secrets.key)},
          {"nics", rows(m.nics, nic)},
          {"targets", rows(m.targets, target_json)}};
}
Json message_json(const Task& m) {
  return {{"type", "task"},
          {"id", m.id.value()},
          {"nic", m.nic.value()},
          {"limit", m.limit.count()},
          {"work", to_json_value(m.work)}};
}
Json message_json(const StopRun&) { return {{"type", "stop"}}; }
Json message_json(const Alive&) { return {{"type", "alive"}}; }
Json message_json(const Bye& m) { return {{"type", "bye"}, {"why", m.why}}; }
Json message_json(const Hello& m) {
  const auto nic = [](const NicReport& n) { return Json::array({n.interface, to_string(n.address)}); };
  return {{"type", "hello"},      {"protocol", m.protocol}, {"host", m.host},
          {"version", m.version}, {"engine", m.engine},     {"nics", rows(m.nics, nic)}};
}
Json message_json(const Ready& m) {
  const auto trouble = [](const NicTrouble& t) { return Json::array({t.nic.value(), t.text, t.of_tool}); };
  const auto use = [](const NicUse& u) { return Json::array({u.nic.value(), u.text}); };
  Json value{{"type", "ready"}, {"troubles", rows(m.troubles, trouble)}, {"uses", rows(m.uses, use)}};
  if (m.inventory) value["inventory"] = host_inventory_value(*m.inventory);
  return value;
}
Json message_json(const TaskResult& m) {
  Json value{{"type", "result"}, {"id", m.id.value()}, {"answer", to_json_value(m.answer)}};
  if (m.error) value["error"] = *m.error;
  if (m.of_tool) value["of_tool"] = true;
  return value;
}

Json message_json(const PeerQuestion& m) {
  return {{"type", "ask"}, {"from", m.from.value()}, {"to", m.to.value()}, {"id", m.id}, {"text", m.text}};
}
Json message_json(const PeerReply& m) {
  return {{"type", "reply"}, {"from", m.from.value()}, {"to", m.to.value()},
          {"id", m.id},      {"failed", m.failed},     {"text", m.text}};
}

PeerQuestion question_from(const Json& v) {
  return {id<PortId>(field(v, "from")), id<PortId>(field(v, "to")), whole<std::uint32_t>(field(v, "id")),
          text(field(v, "text"), kMaxMessageBytes)};
}
PeerReply reply_from(const Json& v) {
  return {id<PortId>(field(v, "from")), id<PortId>(field(v, "to")), whole<std::uint32_t>(field(v, "id")),
          truth(field(v, "failed")), text(field(v, "text"), kMaxMessageBytes)};
}

StartRun start_from(const Json& v) {
  const auto nic = [](const Json& row) {
    return NicAssignment{text(element(row, 0)), id<PortId>(element(row, 1))};
  };
  return {{id<RunId>(field(v, "run")), key_from(text(field(v, "key")))},
          list<NicAssignment>(field(v, "nics"), nic),
          list<RunNic>(field(v, "targets"), target_from)};
}

/// Of another protocol only who says it: the rest may have another form.
Hello hello_from(const Json& v) {
  const auto protocol = v.contains("protocol") ? whole<std::uint32_t>(v["protocol"]) : 1;
  if (protocol != kProtocol)
    return {.host = text(field(v, "host")), .version = text(field(v, "version")), .protocol = protocol};
  const auto nic = [](const Json& row) { return NicReport{text(element(row, 0)), address(element(row, 1))}; };
  return {text(field(v, "host")), text(field(v, "version")), text(field(v, "engine")),
          list<NicReport>(field(v, "nics"), nic)};
}

Ready ready_from(const Json& v) {
  const auto trouble = [](const Json& row) {
    return NicTrouble{id<PortId>(element(row, 0)), text(element(row, 1)), truth(element(row, 2))};
  };
  const auto use = [](const Json& row) { return NicUse{id<PortId>(element(row, 0)), text(element(row, 1))}; };
  Ready ready{list<NicTrouble>(field(v, "troubles"), trouble), list<NicUse>(field(v, "uses"), use)};
  if (!v.contains("inventory")) return ready;
  auto inventory = host_inventory_from(v["inventory"]);
  if (!inventory) throw BadField(inventory.error().message);
  ready.inventory = std::move(*inventory);
  return ready;
}

TaskResult result_from(const Json& v) {
  TaskResult result{.id = id<TaskId>(field(v, "id")), .answer = answer_from_json(field(v, "answer"))};
  if (v.contains("error")) result.error = text(v["error"]);
  if (v.contains("of_tool")) result.of_tool = truth(v["of_tool"]);
  return result;
}

ToAgent to_agent_of(const std::string& type, const Json& v) {
  if (type == "start") return start_from(v);
  if (type == "task")
    return Task{id<TaskId>(field(v, "id")), id<PortId>(field(v, "nic")), time(field(v, "limit")),
                work_from_json(field(v, "work"))};
  if (type == "stop") return StopRun{};
  if (type == "ask") return question_from(v);
  if (type == "reply") return reply_from(v);
  if (type == "alive") return Alive{};
  throw BadField("unknown message '" + type + "'");
}

ToCoordinator to_coordinator_of(const std::string& type, const Json& v) {
  if (type == "hello") return hello_from(v);
  if (type == "ready") return ready_from(v);
  if (type == "result") return result_from(v);
  if (type == "alive") return Alive{};
  if (type == "bye") return Bye{text(field(v, "why"))};
  if (type == "ask") return question_from(v);
  if (type == "reply") return reply_from(v);
  throw BadField("unknown message '" + type + "'");
}

MessageToAgent to_agent_from(const Json& v) {
  return {id<RunId>(field(v, "run")), to_agent_of(text(field(v, "type")), v)};
}

MessageToCoordinator to_coordinator_from(const Json& v) {
  MessageToCoordinator read{std::nullopt, to_coordinator_of(text(field(v, "type")), v)};
  if (std::holds_alternative<Hello>(read.message)) return read;
  if (v.contains("run"))
    read.run = id<RunId>(v["run"]);
  else if (!std::holds_alternative<Bye>(read.message))
    throw BadField("it does not say which run it is of");
  return read;
}

/// Bytes that are no UTF-8 (a message may quote what came from outside) are replaced, never thrown at.
template <class Message>
std::string encode_any(std::optional<RunId> run, const Message& message) {
  Json value = std::visit([](const auto& m) { return message_json(m); }, message);
  if (run) value["run"] = run->value();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Message>
Result<Message> decode_any(std::string_view bytes, Message (*read)(const Json&)) {
  WEFT_TRY_VOID(check_json_limits(bytes, kMessageLimits));
  Json value = Json::parse(bytes, nullptr, false);
  if (value.is_discarded())
    return fail(ErrorKind::invalid_input, "a message of {} bytes is no JSON", bytes.size());
  make_harmless(value);
  try {
    return read(value);
  } catch (const BadField& bad) {
    return fail(ErrorKind::invalid_input, "a message does not fit: {}", bad.what());
  }
}

}  // namespace

std::string encode(const MessageToAgent& sent) { return encode_any(sent.run, sent.message); }
std::string encode(const MessageToCoordinator& sent) { return encode_any(sent.run, sent.message); }
Result<MessageToAgent> decode_to_agent(std::string_view text) {
  return decode_any<MessageToAgent>(text, to_agent_from);
}
Result<MessageToCoordinator> decode_to_coordinator(std::string_view text) {
  return decode_any<MessageToCoordinator>(text, to_coordinator_from);
}

}  // namespace weft
