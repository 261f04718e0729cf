#include "balancer/export/kubernetes_target.hpp"

#include <fmt/format.h>

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
constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";

std::string path_of(const std::string& node) { return "/api/v1/nodes/" + node; }

std::string now_text() {
  return weft::to_string(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

Result<void> KubernetesTarget::check_may(std::string_view subresource) {
  const auto what = fmt::format("nodes{}{}", subresource.empty() ? "" : "/", subresource);
  const auto said = api_->call({.method = "POST",
                                .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                .body = access_question("patch", "nodes", subresource),
                                .content_type = "application/json"});
  if (!said) return fail(said.error().kind, "nothing was changed: {}", said.error().message);
  WEFT_TRY(const auto answer, parse_access_answer(*said));
  if (answer.is_allowed) return {};
  return fail(ErrorKind::permission,
              "this account may not patch {}{}{}: give it the ClusterRole of docs/blacklist.md; nothing was "
              "changed",
              what, answer.reason.empty() ? "" : ": ", outside_text(answer.reason));
}

Result<void> KubernetesTarget::check_rights() {
  return in_turn([&] { return check_may(""); }, [&] { return check_may("status"); });
}

Result<KubernetesNode> KubernetesTarget::get(const std::string& name) {
  WEFT_TRY(const auto said, api_->call({.path = path_of(name)}));
  return parse_kubernetes_node(said, name);
}

Result<std::map<std::string, KubernetesNode>> KubernetesTarget::list(const std::set<std::string>& names) {
  std::map<std::string, KubernetesNode> nodes;
  std::set<std::string> parts;
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    auto path = fmt::format("/api/v1/nodes?limit={}", kPage);
    if (!next.empty()) path += "&continue=" + query_word(next);
    WEFT_TRY(const auto said, api_->call({.path = std::move(path)}));
    WEFT_TRY(auto list, parse_kubernetes_nodes(said));
    for (KubernetesNode& node : list.nodes)
      if (names.contains(node.name)) nodes.insert_or_assign(node.name, std::move(node));
    next = std::move(list.next);
    if (next.empty()) return nodes;
    if (!parts.insert(next).second)
      return fail(ErrorKind::invalid_input, "the API server's list of nodes goes in a circle");
  }
  return fail(ErrorKind::invalid_input, "the API server's list of nodes has no end after {} parts",
              kMaxPages);
}

Result<std::vector<Standing>> KubernetesTarget::read(std::span<const std::string> objects) {
  std::set<std::string> names;
  for (const std::string& object : objects)
    if (const auto parsed = parse_kubernetes_object(object)) names.insert(parsed->node);
  std::map<std::string, KubernetesNode> nodes;
  if (names.size() > kMaxByName) {
    WEFT_TRY(nodes, list(names));
  }
  // Also of a list: what a part of it lacks would count as gone, and so would its marks.
  for (const std::string& name : names) {
    if (nodes.contains(name)) continue;
    auto node = get(name);
    if (!node && node.error().kind == ErrorKind::not_found) continue;
    if (!node) return pass_on(node);
    nodes.emplace(name, std::move(*node));
  }
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
  Result<void> last;
  for (int writers = 0; writers <= kMaxWriters; ++writers) {
    WEFT_TRY(const auto node, get(object->node));
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
  if (parsed->part == KubernetesObject::Part::rail) return fmt::format("{}/p{}", parsed->node, parsed->rail);
  return parsed->node;
}

}  // namespace weft::exports
