#include "balancer/export/kubernetes_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "topology/files/json_fields.hpp"

namespace weft::exports {
namespace {

using files::JsonView;
using files::need_member;
using files::read_member;
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kRulePrefix = "weft.", kRailWord = ".rail";
constexpr std::string_view kNoRule = "no taint of it";
constexpr std::size_t kMaxVersion = 32;

Result<DeviceRule> as_rule(const JsonView& view) {
  DeviceRule rule;
  WEFT_TRY(const auto metadata, view.need("metadata"));
  WEFT_TRY(const auto spec, view.need("spec"));
  WEFT_TRY_VOID(
      in_turn([&] { return need_member(metadata, "name", rule.name, files::as_text); },
              [&] { return need_member(metadata, "resourceVersion", rule.version, files::as_text); },
              [&] { return need_member(metadata, "uid", rule.uid, files::as_text); }));
  if (const auto selector = spec.find("deviceSelector"))
    WEFT_TRY_VOID(in_turn([&] { return read_member(*selector, "driver", rule.driver, files::as_text); },
                          [&] { return read_member(*selector, "pool", rule.pool, files::as_text); },
                          [&] { return read_member(*selector, "device", rule.device, files::as_text); }));
  WEFT_TRY(const auto taint, spec.need("taint"));
  WEFT_TRY_VOID(in_turn([&] { return need_member(taint, "key", rule.key, files::as_text); },
                        [&] { return read_member(taint, "value", rule.value, files::as_text); },
                        [&] { return need_member(taint, "effect", rule.effect, files::as_text); }));
  return rule;
}

std::string device_of(const KubernetesKeys& keys, std::uint32_t rail) {
  std::string device = keys.device;
  if (const auto at = device.find('%'); at != std::string::npos) device.replace(at, 1, std::to_string(rail));
  return device;
}

std::string shown(const DeviceRule& rule) {
  return fmt::format("{} {}/{} {}={}:{}", rule.driver, rule.pool, rule.device, rule.key, rule.value,
                     rule.effect);
}

DeviceRule rule_of(const KubernetesKeys& keys, std::string_view node, std::uint32_t rail,
                   std::string_view mark) {
  return {.name = device_rule_name(keys, node, rail),
          .version = {},
          .uid = {},
          .driver = keys.driver,
          .pool = std::string(node),
          .device = device_of(keys, rail),
          .key = keys.taint,
          .value = mark_value(mark),
          .effect = keys.effect};
}

OrderedJson taint_json(const DeviceRule& rule) {
  OrderedJson taint;
  taint["key"] = rule.key, taint["value"] = rule.value, taint["effect"] = rule.effect;
  return taint;
}

std::string rule_json(const DeviceRule& rule, std::string_view version) {
  OrderedJson json;
  json["apiVersion"] = fmt::format("resource.k8s.io/{}", version);
  json["kind"] = "DeviceTaintRule";
  json["metadata"]["name"] = rule.name;
  auto& selector = json["spec"]["deviceSelector"];
  selector["driver"] = rule.driver, selector["pool"] = rule.pool, selector["device"] = rule.device;
  json["spec"]["taint"] = taint_json(rule);
  return json.dump();
}

/// The mark that a change is to set: of `... weft/fabric=weft.f.3:NoSchedule`.
std::optional<std::string> mark_set(std::string_view set) {
  const auto begin = set.rfind('=');
  const auto end = set.rfind(':');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  return mark_in_value(set.substr(begin + 1, end - begin - 1));
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kMaxVersion && text.front() == 'v' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<DeviceRules> parse_device_rules(std::string_view text) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "DeviceTaintRuleList"));
  DeviceRules list;
  WEFT_TRY(const auto metadata, root.need("metadata"));
  WEFT_TRY_VOID(read_member(metadata, "continue", list.next, files::as_text));
  if (!json.contains("items")) return root.error("it has no items");
  const auto items = root.find("items");  // Go writes null for none
  if (!items) return list;
  WEFT_TRY(list.rules, files::read_array<DeviceRule>(*items, as_rule));
  std::set<std::string_view> names;
  for (const DeviceRule& rule : list.rules)
    if (!names.insert(rule.name).second) return root.error("rule {} twice", rule.name);
  return list;
}

Result<std::vector<std::string>> parse_api_versions(std::string_view text) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "APIGroup"));
  const auto as_version = [](const JsonView& view) -> Result<std::string> {
    std::string version;
    WEFT_TRY_VOID(need_member(view, "version", version, files::as_text));
    if (!is_version(version)) return view.error("'{}' is no version", version);
    return version;
  };
  WEFT_TRY(const auto all, root.need("versions"));
  WEFT_TRY(auto versions, files::read_array<std::string>(all, as_version));
  if (const auto preferred = root.find("preferredVersion")) {
    WEFT_TRY(const auto first, as_version(*preferred));
    if (const auto at = std::ranges::find(versions, first); at != versions.end())
      std::rotate(versions.begin(), at, at + 1);
  }
  return versions;
}

Result<bool> has_device_rules(std::string_view text) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "APIResourceList"));
  WEFT_TRY(const auto all, root.need("resources"));
  WEFT_TRY(const auto names,
           files::read_array<std::string>(all, [](const JsonView& view) -> Result<std::string> {
             std::string name;
             WEFT_TRY_VOID(need_member(view, "name", name, files::as_text));
             return name;
           }));
  return std::ranges::find(names, "devicetaintrules") != names.end();
}

std::string device_rule_name(const KubernetesKeys& keys, std::string_view node, std::uint32_t rail) {
  std::string fabric;  // in hexadecimal: a fabric's name may have what a name of an object may not
  for (const char c : keys.fabric) fabric += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return fmt::format("{}f{}.{}{}{}", kRulePrefix, fabric, node, kRailWord, rail);
}

std::string device_text(const KubernetesKeys& keys, std::string_view node, std::uint32_t rail,
                        std::string_view mark) {
  return shown(rule_of(keys, node, rail, mark));
}

Standing device_standing(const DeviceRulesByName& rules, const KubernetesObject& object,
                         const KubernetesKeys& keys) {
  const auto name = device_object(object.node, object.rail);
  const auto found = rules.find(device_rule_name(keys, object.node, object.rail));
  if (found == rules.end()) return {.object = name, .text = std::string(kNoRule)};
  const DeviceRule& rule = found->second;
  const auto mark = rule.key == keys.taint ? mark_in_value(rule.value) : std::nullopt;
  if (!mark || (!keys.fabric.empty() && !entry_of(keys.fabric, *mark)))
    return {.object = name, .whose = Whose::others, .text = shown(rule)};
  return {.object = name,
          .whose = Whose::weft,
          .text = shown(rule),
          .mark = mark,
          .in_effect = shown(rule) == device_text(keys, object.node, object.rail, *mark)};
}

std::vector<std::string> marked_devices(const DeviceRulesByName& rules, const KubernetesKeys& keys) {
  std::vector<std::string> objects;
  for (const auto& [name, rule] : rules) {
    const auto at = name.rfind(kRailWord);
    std::uint32_t rail = 0;
    if (at == std::string::npos || !is_node_name(rule.pool)) continue;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + at + kRailWord.size(), end, rail);
    if (read.ec != std::errc() || read.ptr != end || name != device_rule_name(keys, rule.pool, rail))
      continue;
    const KubernetesObject object{rule.pool, KubernetesObject::Part::device, rail};
    if (device_standing(rules, object, keys).whose == Whose::weft)
      objects.push_back(device_object(rule.pool, rail));
  }
  return objects;
}

Result<std::optional<DeviceCall>> device_call(const DeviceRulesByName& rules, const Change& change,
                                              const KubernetesKeys& keys, std::string_view version) {
  const auto object = parse_kubernetes_object(change.object);
  if (!object) return fail(ErrorKind::usage, "'{}' is no device of Kubernetes", change.object);
  const auto standing = device_standing(rules, *object, keys);
  const bool is_take = change.act == Act::take;
  const auto mark = is_take ? std::nullopt : mark_set(change.set);
  if (!is_take && !mark) return fail(ErrorKind::internal, "{}: '{}' is no mark", change.object, change.set);
  const bool is_done = is_take ? standing.whose == Whose::nobody
                               : standing.whose == Whose::weft && standing.text == change.set;
  if (is_done) return std::nullopt;
  const bool is_as_planned = change.act == Act::put
                                 ? standing.whose == Whose::nobody
                                 : standing.whose == Whose::weft && standing.text == change.before;
  if (!is_as_planned)
    return fail(ErrorKind::conflict, "{}: '{}' stands there by now: left alone", change.object,
                standing.text);
  const auto all = fmt::format("/apis/resource.k8s.io/{}/devicetaintrules", version);
  if (change.act == Act::put)
    return DeviceCall{"POST", all, rule_json(rule_of(keys, object->node, object->rail, *mark), version),
                      "application/json"};
  const DeviceRule& there = rules.find(device_rule_name(keys, object->node, object->rail))->second;
  const auto path = all + "/" + there.name;
  OrderedJson body;
  if (is_take) {
    body["kind"] = "DeleteOptions", body["apiVersion"] = "v1";
    body["preconditions"]["uid"] = there.uid, body["preconditions"]["resourceVersion"] = there.version;
    return DeviceCall{"DELETE", path, body.dump(), "application/json"};
  }
  const auto rule = rule_of(keys, object->node, object->rail, *mark);
  body["metadata"]["resourceVersion"] = there.version;
  auto& selector = body["spec"]["deviceSelector"];
  selector["driver"] = rule.driver, selector["pool"] = rule.pool, selector["device"] = rule.device;
  body["spec"]["taint"] = taint_json(rule);
  return DeviceCall{"PATCH", path, body.dump(), "application/merge-patch+json"};
}

std::string device_line(const KubernetesKeys& keys, const KubernetesObject& object, const Change& change,
                        std::string_view version) {
  if (change.act == Act::take)
    return fmt::format("kubectl delete devicetaintrule {}", device_rule_name(keys, object.node, object.rail));
  const auto mark = mark_set(change.set);
  if (!mark) return {};
  return fmt::format("kubectl apply -f - <<< {}",
                     shell_word(rule_json(rule_of(keys, object.node, object.rail, *mark), version)));
}

}  // namespace weft::exports
