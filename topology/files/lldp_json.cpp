// LLDP tables as JSON: of lldpd, whose shape changes with the number of neighbours, and of Cumulus' NVUE.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kLimits{.bytes = 64'000'000, .depth = 32, .values = 4'000'000};

Result<Json> read(std::string_view text, const RecordSource& source) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, source.file);
  return parse_json(text, source.file);
}

/// json0 wraps each value as [{"value": TEXT}]: the TEXT; of several the first.
std::string text_in(const Json* value) {
  for (int depth = 0; value != nullptr && depth < 4; ++depth) {
    if (value->is_string()) return value->get<std::string>();
    if (value->is_array())
      value = value->empty() ? nullptr : &value->front();
    else if (value->is_object())
      value = value->contains("value") ? &(*value)["value"] : nullptr;
    else
      return "";
  }
  return "";
}
const Json* member(const Json* object, const char* key) {
  if (object == nullptr) return nullptr;
  if (object->is_array()) object = object->empty() ? nullptr : &object->front();
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto at = object->find(key);
  return at == object->end() ? nullptr : &*at;
}

/// The objects of a value that is one, or several in an array.
template <class Take>
void each(const Json* value, Take take) {
  if (value == nullptr) return;
  if (value->is_array())
    for (const Json& one : *value) each(&one, take);
  else if (value->is_object())
    take(*value);
}

bool looks_like_mac(const std::string& text) {
  return std::ranges::count(text, ':') == 5 && text.size() == 17;
}

/// The port's id where that is a name, else its description: lldpd sends a MAC address as id and the
/// interface as description unless told otherwise.
std::string port_name(const Json* port) {
  const auto* id = member(port, "id");
  const auto type = text_in(member(id, "type"));
  const auto value = text_in(member(id, "value"));
  const auto description = text_in(member(port, "descr"));
  if (!value.empty() && type != "mac" && !looks_like_mac(value)) return value;
  return description.find(' ') == std::string::npos ? description : "";
}

/// Whether a neighbour forwards packets: Bridge or Router is on; a station alone does not (IEEE 802.1AB,
/// 8.5.8); absent: it does not say.
std::optional<bool> forwards(const Json* chassis) {
  std::optional<bool> answer;
  each(member(chassis, "capability"), [&](const Json& capability) {
    const auto type = text_in(member(&capability, "type"));
    const auto* enabled = member(&capability, "enabled");
    const bool on = enabled != nullptr && enabled->is_boolean() && enabled->get<bool>();
    if (type == "Router" || type == "Bridge") answer = answer.value_or(false) || on;
    if (type == "Station" && on) answer = answer.value_or(false);
  });
  return answer;
}

class LldpReader {
 public:
  LldpReader(const RecordSource& source, CableList& list) : source_(source), list_(list) {}

  /// One interface with one neighbour.
  void add(const std::string& interface, const Json& entry) {
    const auto* chassis = member(&entry, "chassis");
    std::string name = text_in(member(chassis, "name"));
    if (name.empty() && chassis != nullptr && chassis->is_object() && chassis->size() == 1 &&
        chassis->begin()->is_object() && !chassis->contains("id")) {  // {"chassis": {"leaf1": {...}}}
      name = chassis->begin().key();
      chassis = &*chassis->begin();
    }
    const auto port = port_name(member(&entry, "port"));
    if (interface.empty() || name.empty()) {
      list_.remarks.push_back(fmt::format("the neighbour at {} says no name of its own: left out",
                                          interface.empty() ? "an interface without a name" : interface));
      return;
    }
    note_namesake(name, text_in(member(member(chassis, "id"), "value")));
    if (const auto on = forwards(chassis)) (*on ? list_.switches : list_.hosts).push_back(name);
    const auto* addresses = member(chassis, "mgmt-ip");
    const auto know = [&](const Json& value) {
      const auto address = IpAddress::parse(text_in(&value));
      if (address) list_.known_by.push_back({{name, ""}, *address});
    };
    if (addresses != nullptr && addresses->is_array())
      std::ranges::for_each(*addresses, know);
    else if (addresses != nullptr)
      know(*addresses);
    list_.cables.push_back({{source_.device, interface}, {name, port}});
  }

 private:
  /// One chassis has one id (IEEE 802.1AB, 8.5.2).
  void note_namesake(const std::string& name, const std::string& id) {
    if (id.empty()) return;
    const auto [known, is_new] = chassis_.try_emplace(name, id);
    if (!is_new && known->second != id && twice_.insert(name).second)
      list_.remarks.push_back(fmt::format(
          "two neighbours are called {} (chassis {} and {}): rename one, else their cables cannot "
          "be told apart",
          name, known->second, id));
  }

  const RecordSource& source_;
  CableList& list_;
  std::map<std::string, std::string> chassis_;  // the first id that a name has
  std::set<std::string> twice_;
};

}  // namespace

Result<CableList> parse_lldpcli_json(std::string_view text, const RecordSource& source) {
  WEFT_TRY(const auto document, read(text, source));
  CableList list{.source = fmt::format("LLDP of {} ({})", source.device, source.file)};
  list.devices.push_back(source.device);
  const auto* lldp = member(&document, "lldp");
  if (lldp == nullptr)
    return fail(ErrorKind::invalid_input,
                "{}: 'lldp' is missing: expected what `lldpcli show neighbors -f json` prints", source.file);
  LldpReader reader(source, list);
  each(member(lldp, "interface"), [&](const Json& interface) {
    if (interface.contains("name")) return reader.add(text_in(&interface["name"]), interface);
    for (const auto& [name, entry] : interface.items())
      each(&entry, [&, key = name](const Json& one) { reader.add(key, one); });
  });
  return list;
}

Result<CableList> parse_nvue_lldp(std::string_view text, const RecordSource& source) {
  WEFT_TRY(const auto document, read(text, source));
  CableList list{.source = fmt::format("LLDP of {} ({})", source.device, source.file)};
  list.devices.push_back(source.device);
  list.switches.push_back(source.device);
  if (!document.is_object())
    return fail(ErrorKind::invalid_input, "{}: expected an object of interfaces", source.file);
  for (const auto& [interface, entry] : document.items()) {
    const auto* neighbours = member(member(&entry, "lldp"), "neighbor");
    if (neighbours == nullptr || !neighbours->is_object()) continue;
    for (const auto& [key, neighbour] : neighbours->items()) {
      const auto* chassis = member(&neighbour, "chassis");
      auto name = text_in(member(chassis, "system-name"));
      if (name.empty()) name = key;
      const auto* port = member(&neighbour, "port");
      auto far = text_in(member(port, "name"));
      if (looks_like_mac(far)) far = text_in(member(port, "description"));
      if (interface == "eth0") continue;  // the management port
      list.cables.push_back({{source.device, interface}, {name, far}});
    }
  }
  return list;
}

}  // namespace weft::files
