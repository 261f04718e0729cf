#include "balancer/export/kubernetes_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "balancer/export/slurm_node.hpp"
#include "topology/files/json_view.hpp"

namespace weft::exports {
namespace {

using files::JsonView;
using Part = KubernetesObject::Part;

constexpr std::size_t kMaxText = 2000;  // of a message: ours have half of it at most

/// A member that is a text; empty where there is none.
Result<std::string> text_or_empty(const JsonView& object, std::string_view key) {
  const auto member = object.find(key);
  if (!member) return std::string();
  WEFT_TRY(const auto text, member->text());
  return std::string(text);
}

Result<void> read_taints(const nlohmann::json& spec, const JsonView& view, KubernetesNode& node) {
  const auto list = view.find("taints");
  if (!list) return {};
  WEFT_TRY(const auto size, list->size());
  for (std::size_t i = 0; i < size; ++i) {
    const auto taint = list->at(i);
    KubernetesNode::Taint one;
    WEFT_TRY(const auto key, taint.need("key"));
    WEFT_TRY(one.key, key.text());
    WEFT_TRY(const auto effect, taint.need("effect"));
    WEFT_TRY(one.effect, effect.text());
    WEFT_TRY(one.value, text_or_empty(taint, "value"));
    one.json = spec["taints"][i].dump();
    node.taints.push_back(std::move(one));
  }
  return {};
}

Result<void> read_conditions(const JsonView& status, KubernetesNode& node) {
  const auto list = status.find("conditions");
  if (!list) return {};
  WEFT_TRY(node.conditions, files::read_array<KubernetesNode::Condition>(
                                *list, [](const JsonView& view) -> Result<KubernetesNode::Condition> {
                                  KubernetesNode::Condition one;
                                  WEFT_TRY(const auto type, view.need("type"));
                                  WEFT_TRY(one.type, type.text());
                                  WEFT_TRY(const auto state, view.need("status"));
                                  WEFT_TRY(one.status, state.text());
                                  WEFT_TRY(one.message, text_or_empty(view, "message"));
                                  one.message = printable(one.message).substr(0, kMaxText);
                                  return one;
                                }));
  return {};
}

Result<void> read_labels(const nlohmann::json& metadata, const JsonView& view, KubernetesNode& node) {
  const auto found = metadata.find("labels");
  if (found == metadata.end() || found->is_null()) return {};
  if (!found->is_object()) return view.error("labels: expected an object");
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) return view.error("labels: {}: expected a text", key);
    node.labels.emplace(key, value.get<std::string>());
  }
  return {};
}

Result<KubernetesNode> read_node(const nlohmann::json& json, const JsonView& root) {
  KubernetesNode node;
  WEFT_TRY(const auto metadata, root.need("metadata"));
  WEFT_TRY(const auto name, metadata.need("name"));
  WEFT_TRY(node.name, name.text());
  if (!is_node_name(node.name)) return name.error("{} is no name of a node", node.name);
  WEFT_TRY(const auto version, metadata.need("resourceVersion"));
  WEFT_TRY(node.version, version.text());
  if (node.version.empty()) return version.error("it is empty");
  node.is_being_deleted = metadata.find("deletionTimestamp").has_value();
  WEFT_TRY_VOID(read_labels(json["metadata"], metadata, node));
  WEFT_TRY(const auto spec, root.need("spec"));
  if (const auto cordon = spec.find("unschedulable")) {
    WEFT_TRY(node.is_cordoned, cordon->boolean());
  }
  WEFT_TRY_VOID(read_taints(json["spec"], spec, node));
  if (const auto status = root.find("status")) WEFT_TRY_VOID(read_conditions(*status, node));
  return node;
}

/// Why others have it out of service; empty: they have not.
std::string out_of_service(const KubernetesNode& node) {
  if (node.is_being_deleted) return "it is being deleted";
  if (node.is_cordoned) return "cordoned (SchedulingDisabled)";
  const auto ready = std::ranges::find(node.conditions, "Ready", &KubernetesNode::Condition::type);
  return ready != node.conditions.end() && ready->status == "True" ? "" : "not Ready";
}

bool is_ours(const KubernetesNode::Taint& taint, const KubernetesKeys& keys) {
  const auto mark = taint.key == keys.taint ? mark_in_value(taint.value) : std::nullopt;
  return mark && (keys.fabric.empty() || entry_of(keys.fabric, *mark));
}

std::string shown(const KubernetesNode::Taint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value, taint.effect);
}

Standing taint_standing(const KubernetesNode& node, const std::string& object, const KubernetesKeys& keys) {
  std::vector<std::string> theirs;
  const KubernetesNode::Taint* ours = nullptr;
  for (const auto& taint : node.taints) {
    if (taint.key != keys.taint) continue;
    if (is_ours(taint, keys) && !ours)
      ours = &taint;
    else
      theirs.push_back(shown(taint));
  }
  if (ours)
    return {.object = object,
            .whose = Whose::weft,
            .text = shown(*ours),
            .mark = mark_in_value(ours->value),
            .in_effect = ours->effect == keys.effect};
  const auto why = theirs.empty() ? out_of_service(node) : fmt::format("{}", fmt::join(theirs, ","));
  if (why.empty()) return {.object = object, .text = "in service"};
  return {.object = object, .whose = Whose::others, .text = why};
}

/// Where the node itself is others', its condition is left to them.
Standing condition_standing(const KubernetesNode& node, const std::string& object,
                            const KubernetesKeys& keys) {
  const auto found = std::ranges::find(node.conditions, keys.condition, &KubernetesNode::Condition::type);
  if (found == node.conditions.end()) {
    auto standing = taint_standing(node, object, keys);
    if (standing.whose == Whose::others) return standing;
    return {.object = object, .text = "no condition", .lasts = false};
  }
  const auto mark = found->status == "True" ? mark_in_reason(found->message) : std::nullopt;
  if (mark) return {.object = object, .whose = Whose::weft, .text = found->message, .mark = mark};
  return {.object = object,
          .whose = Whose::others,
          .text = fmt::format("{}={}: {}", found->type, found->status, found->message)};
}

std::optional<Standing> rail_standing(const KubernetesNode& node, const std::string& object,
                                      std::uint32_t rail, const KubernetesKeys& keys) {
  const auto found = node.labels.find(fmt::format("{}{}", keys.rail, rail));
  if (found == node.labels.end()) return std::nullopt;
  const std::string& value = found->second;
  if (value == kRailInUse) return Standing{.object = object, .text = value};
  const auto mark = mark_in_value(value);
  return Standing{.object = object, .whose = mark ? Whose::weft : Whose::others, .text = value, .mark = mark};
}

/// The mark that a change is to set; absent: none, as no ledger demands it.
std::optional<std::string> mark_set(const KubernetesObject& object, const Change& change,
                                    const KubernetesKeys& keys) {
  std::string_view set = change.set;
  const auto before = keys.taint + "=", after = ":" + keys.effect;
  switch (object.part) {
    case Part::condition:
      return mark_in_reason(set);
    case Part::rail:
      return mark_in_value(set);
    case Part::device:
      break;
    case Part::taint:
      if (!set.starts_with(before) || !set.ends_with(after)) return std::nullopt;
      set.remove_prefix(before.size());
      return mark_in_value(set.substr(0, set.size() - std::min(set.size(), after.size())));
  }
  return std::nullopt;
}

/// The list as a whole: all as they were read but that one, and ours with that mark, if any.
std::string taint_patch(const KubernetesNode& node, std::string_view before,
                        const std::optional<std::string>& mark, const KubernetesKeys& keys) {
  nlohmann::json patch;
  patch["metadata"]["resourceVersion"] = node.version;
  auto& taints = patch["spec"]["taints"] = nlohmann::json::array();
  for (const auto& taint : node.taints)
    if (shown(taint) != before) taints.push_back(nlohmann::json::parse(taint.json));
  if (mark) taints.push_back({{"key", keys.taint}, {"value", mark_value(*mark)}, {"effect", keys.effect}});
  return patch.dump();
}

std::string label_patch(const KubernetesNode& node, const std::string& key, std::string_view value) {
  nlohmann::json patch;
  patch["metadata"]["resourceVersion"] = node.version;
  patch["metadata"]["labels"][key] = value;
  return patch.dump();
}

}  // namespace

Result<KubernetesNode> parse_kubernetes_node(std::string_view text, std::string_view name) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "Node"));
  WEFT_TRY(auto node, read_node(json, root));
  if (node.name != name) return root.error("it is of node {}, not {}", node.name, name);
  return node;
}

Result<KubernetesNodes> parse_kubernetes_nodes(std::string_view text) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "NodeList"));
  KubernetesNodes list;
  WEFT_TRY(const auto metadata, root.need("metadata"));
  WEFT_TRY(list.next, text_or_empty(metadata, "continue"));
  if (!json.contains("items")) return root.error("it has no items");
  const auto items = root.find("items");  // Go writes null for none
  if (!items) return list;
  WEFT_TRY(const auto size, items->size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < size; ++i) {
    const auto view = items->at(i);
    WEFT_TRY(auto node, read_node(json["items"][i], view));
    if (!names.insert(node.name).second) return view.error("node {} twice", node.name);
    list.nodes.push_back(std::move(node));
  }
  return list;
}

KubernetesStatus parse_kubernetes_status(std::string_view text) {
  const auto json = parse_kubernetes_answer(text);
  if (!json) return {};
  const JsonView root(*json, kKubernetesAnswer);
  if (!check_kubernetes_kind(root, "Status")) return {};
  KubernetesStatus status;
  status.reason = text_or_empty(root, "reason").value_or("");
  status.message = text_or_empty(root, "message").value_or("");
  return status;
}

std::string access_question(std::string_view verb, std::string_view resource, std::string_view subresource,
                            std::string_view group) {
  nlohmann::ordered_json question;
  question["apiVersion"] = "authorization.k8s.io/v1";
  question["kind"] = "SelfSubjectAccessReview";
  auto& asked = question["spec"]["resourceAttributes"];
  asked["verb"] = verb;
  if (!group.empty()) asked["group"] = group;
  asked["resource"] = resource;
  if (!subresource.empty()) asked["subresource"] = subresource;
  return question.dump();
}

Result<AccessAnswer> parse_access_answer(std::string_view text) {
  WEFT_TRY(const auto json, parse_kubernetes_answer(text));
  const JsonView root(json, kKubernetesAnswer);
  WEFT_TRY_VOID(check_kubernetes_kind(root, "SelfSubjectAccessReview"));
  WEFT_TRY(const auto status, root.need("status"));
  WEFT_TRY(const auto allowed, status.need("allowed"));
  AccessAnswer answer;
  WEFT_TRY(answer.is_allowed, allowed.boolean());
  WEFT_TRY(answer.reason, text_or_empty(status, "reason"));
  return answer;
}

std::optional<Standing> standing_of(const KubernetesNode& node, const std::string& object,
                                    const KubernetesKeys& keys) {
  const auto parsed = parse_kubernetes_object(object);
  if (!parsed || parsed->node != node.name) return std::nullopt;
  switch (parsed->part) {
    case Part::taint:
      return taint_standing(node, object, keys);
    case Part::condition:
      return condition_standing(node, object, keys);
    case Part::rail:
      return rail_standing(node, object, parsed->rail, keys);
    case Part::device:
      break;
  }
  return std::nullopt;
}

std::vector<std::string> marked_objects(const KubernetesNode& node, const KubernetesKeys& keys) {
  std::vector<std::string> candidates{node.name, condition_object(node.name)};
  for (const auto& [key, value] : node.labels) {
    std::uint32_t rail = 0;
    if (!key.starts_with(keys.rail)) continue;
    const char* end = key.data() + key.size();
    const auto read = std::from_chars(key.data() + keys.rail.size(), end, rail);
    if (read.ec == std::errc() && read.ptr == end) candidates.push_back(rail_object(node.name, rail));
  }
  std::erase_if(candidates, [&](const std::string& object) {
    const auto standing = standing_of(node, object, keys);
    return !standing || standing->whose != Whose::weft;
  });
  return candidates;
}

Result<std::optional<NodePatch>> patch_for(const KubernetesNode& node, const Change& change,
                                           const KubernetesKeys& keys, std::string_view time) {
  const auto object = parse_kubernetes_object(change.object);
  const auto standing = standing_of(node, change.object, keys);
  if (!object || !standing) return fail(ErrorKind::conflict, "{}: it is not there any more", change.object);
  const bool is_take = change.act == Act::take;
  const auto mark = is_take ? std::nullopt : mark_set(*object, change, keys);
  if (!is_take && !mark) return fail(ErrorKind::internal, "{}: '{}' is no mark", change.object, change.set);
  const bool is_done = is_take ? standing->whose == Whose::nobody
                               : standing->whose == Whose::weft && standing->text == change.set;
  if (is_done) return std::nullopt;
  const bool is_as_planned = change.act == Act::put
                                 ? standing->whose == Whose::nobody
                                 : standing->whose == Whose::weft && standing->text == change.before;
  if (!is_as_planned)
    return fail(ErrorKind::conflict, "{}: '{}' stands there by now: left alone", change.object,
                standing->text);
  switch (object->part) {
    case Part::taint:
      return NodePatch{.body = taint_patch(node, change.before, mark, keys)};
    case Part::condition:
      return NodePatch{.of_status = true,
                       .body = is_take ? no_condition_patch(keys, node.version)
                                       : condition_patch(keys, change.set, node.version, time)};
    case Part::rail:
      return NodePatch{.body = label_patch(node, fmt::format("{}{}", keys.rail, object->rail),
                                           is_take ? kRailInUse : std::string_view(change.set))};
    case Part::device:
      break;
  }
  return fail(ErrorKind::internal, "{}: no such part", change.object);
}

}  // namespace weft::exports
