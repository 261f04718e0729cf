#include "balancer/export/kubernetes_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "topology/base/outside_text.hpp"
#include "topology/base/utc.hpp"

namespace weft::exports {
namespace {

/// More are read as a list of all: a call each takes longer then.
constexpr std::size_t kMaxByName = 16;
constexpr int kPage = 100;      // nodes of an answer: some 2 MB
constexpr int kMaxPages = 200;  // four times the nodes that a cluster may have by its documentation
constexpr int kMaxSilent = 3;   // calls in a row without an answer: the server is away
constexpr int kMaxWriters = 5;  // that change a node between our reading and our writing
constexpr std::string_view kResourceGroup = "resource.k8s.io", kDeviceRules = "devicetaintrules";
constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";

std::string path_of(const std::string& node) { return "/api/v1/nodes/" + node; }

std::string now_text() {
  return weft::to_string(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

/// Each part of a list, by `take`, which says what the next part is called; empty: there is none.
template <class Take>
Result<void> each_part(RestApi& api, const std::string& list, std::string_view what, Take take) {
  std::set<std::string> parts;
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    auto path = fmt::format("{}?limit={}", list, kPage);
    if (!next.empty()) path += "&continue=" + query_word(next);
    WEFT_TRY(const auto said, api.call({.path = std::move(path)}));
    WEFT_TRY(next, take(said));
    if (next.empty()) return {};
    if (!parts.insert(next).second)
      return fail(ErrorKind::invalid_input, "the API server's list of {} goes in a circle", what);
  }
  return fail(ErrorKind::invalid_input, "the API server's list of {} has no end after {} parts", what,
              kMaxPages);
}

Result<void> check_may(RestApi& api, std::string_view verb, std::string_view resource,
                       std::string_view subresource = {}, std::string_view group = {}) {
  const auto what = fmt::format("{}{}{}", resource, subresource.empty() ? "" : "/", subresource);
  const auto said = api.call({.method = "POST",
                              .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                              .body = access_question(verb, resource, subresource, group),
                              .content_type = "application/json"});
  if (!said) return fail(said.error().kind, "nothing was changed: {}", said.error().message);
  WEFT_TRY(const auto answer, parse_access_answer(*said));
  if (answer.is_allowed) return {};
  return fail(ErrorKind::permission,
              "this account may not {} {}{}{}: give it the ClusterRole of docs/blacklist.md; nothing was "
              "changed",
              verb, what, answer.reason.empty() ? "" : ": ", outside_text(answer.reason));
}

Result<KubernetesNode> get_node(RestApi& api, const std::string& name) {
  WEFT_TRY(const auto said, api.call({.path = path_of(name)}));
  return parse_kubernetes_node(said, name);
}

Result<std::map<std::string, KubernetesNode>> list_nodes(RestApi& api, const std::set<std::string>& names) {
  std::map<std::string, KubernetesNode> nodes;
  WEFT_TRY_VOID(each_part(api, "/api/v1/nodes", "nodes", [&](const std::string& said) -> Result<std::string> {
    WEFT_TRY(auto part, parse_kubernetes_nodes(said));
    for (KubernetesNode& node : part.nodes)
      if (names.contains(node.name)) nodes.insert_or_assign(node.name, std::move(node));
    return std::move(part.next);
  }));
  return nodes;
}

/// Those of them that there are.
Result<std::map<std::string, KubernetesNode>> get_nodes(RestApi& api, const std::set<std::string>& names) {
  std::map<std::string, KubernetesNode> nodes;
  if (names.size() > kMaxByName) {
    WEFT_TRY(nodes, list_nodes(api, names));
  }
  // Also of a list: what a part of it lacks would count as gone, and so would its marks.
  for (const std::string& name : names) {
    if (nodes.contains(name)) continue;
    auto node = get_node(api, name);
    if (!node && node.error().kind == ErrorKind::not_found) continue;
    if (!node) return pass_on(node);
    nodes.emplace(name, std::move(*node));
  }
  return nodes;
}

}  // namespace

Result<std::string> KubernetesDevices::version() {
  if (version_) return *version_;
  const auto missing = [] {
    return fail(
        ErrorKind::not_supported,
        "the API server has no DeviceTaintRule in {}: its feature DRADeviceTaints and that version are "
        "to be switched on; without --kube-dra rails are labels",
        kResourceGroup);
  };
  const auto root = fmt::format("/apis/{}", kResourceGroup);
  const auto group = api_.call({.path = root, .accepted = {404}});
  if (!group) return pass_on(group);
  const auto versions = parse_api_versions(*group);
  if (!versions) return missing();  // a refusal, or a page of somebody else's
  for (const std::string& each : *versions) {
    WEFT_TRY(const auto list, api_.call({.path = fmt::format("{}/{}", root, each)}));
    WEFT_TRY(const bool has, has_device_rules(list));
    if (has) return version_.emplace(each);
  }
  return missing();
}

Result<DeviceRulesByName> KubernetesDevices::rules() {
  WEFT_TRY(const auto api_version, version());
  DeviceRulesByName found;
  const auto list = fmt::format("/apis/{}/{}/{}", kResourceGroup, api_version, kDeviceRules);
  WEFT_TRY_VOID(each_part(api_, list, kDeviceRules, [&](const std::string& said) -> Result<std::string> {
    WEFT_TRY(auto part, parse_device_rules(said));
    for (DeviceRule& rule : part.rules) {
      auto name = rule.name;
      found.insert_or_assign(std::move(name), std::move(rule));
    }
    return std::move(part.next);
  }));
  return found;
}

Result<std::vector<Standing>> KubernetesDevices::read(std::span<const std::string> objects) {
  std::vector<Standing> standings;
  const std::set<std::string> asked(objects.begin(), objects.end());
  const auto is_device = [](const std::string& object) {
    const auto parsed = parse_kubernetes_object(object);
    return parsed && parsed->part == KubernetesObject::Part::device;
  };
  if (keys_.driver.empty()) {
    // They stand though the option was left out: nothing is concluded of them.
    for (const std::string& object : asked)
      if (is_device(object))
        standings.push_back({.object = object, .text = "--kube-dra is not given", .is_known = false});
    return standings;
  }
  WEFT_TRY(rules_, rules());
  for (const std::string& object : asked)
    if (is_device(object))
      standings.push_back(device_standing(*rules_, *parse_kubernetes_object(object), keys_));
  for (const std::string& object : marked_devices(*rules_, keys_))
    if (!asked.contains(object))
      standings.push_back(device_standing(*rules_, *parse_kubernetes_object(object), keys_));
  return standings;
}

/// Each call of a change names the version that it was made for.
Result<void> KubernetesDevices::make(const Change& change) {
  WEFT_TRY(const auto api_version, version());
  Result<void> last;
  for (int writers = 0; writers <= kMaxWriters; ++writers) {
    // As read last: where that is no longer so, the version that a call names says so.
    if (!rules_ || writers > 0) {
      WEFT_TRY(rules_, rules());
    }
    WEFT_TRY(const auto call, device_call(*rules_, change, keys_, api_version));
    if (!call) return {};
    const auto said = api_.call({call->method, call->path, call->body, call->content_type});
    if (said || (call->method == "DELETE" && said.error().kind == ErrorKind::not_found)) {
      // Its version is another now: who changes it again meets a conflict, and reads it.
      if (const auto object = parse_kubernetes_object(change.object))
        rules_->erase(device_rule_name(keys_, object->node, object->rail));
      return {};
    }
    last = pass_on(said);
    if (said.error().kind != ErrorKind::conflict) return last;
  }
  return pass_on(last, fmt::format("{}: others keep changing it", change.object));
}

Result<void> KubernetesTarget::check_rights() {
  WEFT_TRY_VOID(in_turn([&] { return check_may(*api_, "patch", "nodes"); },
                        [&] { return check_may(*api_, "patch", "nodes", "status"); }));
  if (keys_.driver.empty()) return {};
  for (const char* verb : {"create", "patch", "delete"})
    WEFT_TRY_VOID(check_may(*api_, verb, kDeviceRules, {}, kResourceGroup));
  return {};
}

std::string KubernetesTarget::by_hand(const Change& change) const {
  const auto object = parse_kubernetes_object(change.object);
  if (object && object->part == KubernetesObject::Part::device) return devices_.by_hand(*object, change);
  return kubectl_line(keys_, change);
}

Result<std::vector<Standing>> KubernetesTarget::read(std::span<const std::string> objects) {
  WEFT_TRY(auto standings, read_nodes(objects));
  WEFT_TRY(auto devices, devices_.read(objects));
  std::ranges::move(devices, std::back_inserter(standings));
  return standings;
}

Result<std::vector<Standing>> KubernetesTarget::read_nodes(std::span<const std::string> objects) {
  std::set<std::string> names;
  for (const std::string& object : objects)
    if (const auto parsed = parse_kubernetes_object(object);
        parsed && parsed->part != KubernetesObject::Part::device)
      names.insert(parsed->node);
  WEFT_TRY(const auto nodes, get_nodes(*api_, names));
  has_seen_a_node_ = has_seen_a_node_ || !nodes.empty();
  // Of another cluster, all marks would count as gone.
  if (!names.empty() && !has_seen_a_node_)
    return fail(
        ErrorKind::absent,
        "the API server has none of the {} nodes that were asked for ({}, ...): nothing was concluded",
        names.size(), *names.begin());
  std::vector<Standing> standings;
  for (const std::string& object : objects) {
    const auto parsed = parse_kubernetes_object(object);
    const auto at = parsed ? nodes.find(parsed->node) : nodes.end();
    if (at == nodes.end()) continue;
    if (auto standing = standing_of(at->second, object, keys_)) standings.push_back(std::move(*standing));
  }
  // Marks of which a ledger that was lost knows nothing, on the same nodes.
  const std::set<std::string> asked(objects.begin(), objects.end());
  for (const auto& [name, node] : nodes)
    for (const std::string& object : marked_objects(node, keys_))
      if (!asked.contains(object))
        if (auto standing = standing_of(node, object, keys_)) standings.push_back(std::move(*standing));
  return standings;
}

/// Read, change, write, and from the start again where somebody else wrote meanwhile.
Result<void> KubernetesTarget::make(const Change& change) {
  const auto object = parse_kubernetes_object(change.object);
  if (!object) return fail(ErrorKind::usage, "'{}' is no node of Kubernetes", change.object);
  if (object->part == KubernetesObject::Part::device) return devices_.make(change);
  Result<void> last;
  for (int writers = 0; writers <= kMaxWriters; ++writers) {
    WEFT_TRY(const auto node, get_node(*api_, object->node));
    WEFT_TRY(const auto patch, patch_for(node, change, keys_, now_text()));
    if (!patch) return {};
    const auto said = api_->call({.method = "PATCH",
                                  .path = path_of(object->node) + (patch->of_status ? "/status" : ""),
                                  .body = patch->body,
                                  .content_type = patch->of_status ? kStrategicPatch : kMergePatch});
    if (said) return {};
    last = pass_on(said);
    if (said.error().kind != ErrorKind::conflict) return last;
  }
  return pass_on(last, fmt::format("{}: others keep changing it", change.object));
}

Result<void> KubernetesTarget::apply(std::span<const Change> changes) {
  Failures failures;
  int silent = 0;
  for (const Change& change : changes) {
    const auto done = make(change);
    if (done) silent = 0;
    if (done) continue;
    failures.add(done.error());
    // A server that does not answer is not asked for each of many; one node that is refused, or slow, keeps
    // no other from its turn.
    silent = leaves_open(done.error()) ? silent + 1 : 0;
    if (silent == kMaxSilent) break;
  }
  return failures.result();
}

std::string KubernetesTarget::subject_of(const std::string& object) const {
  const auto parsed = parse_kubernetes_object(object);
  if (!parsed) return object;
  if (parsed->part == KubernetesObject::Part::rail || parsed->part == KubernetesObject::Part::device)
    return fmt::format("{}/p{}", parsed->node, parsed->rail);
  return parsed->node;
}

}  // namespace weft::exports
