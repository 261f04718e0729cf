// Whatever an API server answers: an error, or nodes with names that a URL holds as they are, a mark only
// where it has our form, and patches that keep all taints of others and name the version that they are for.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "balancer/export/kubernetes_node.hpp"

namespace {

using namespace weft::exports;

void check(const KubernetesNode& node) {
  const KubernetesKeys keys;
  if (!is_node_name(node.name)) std::abort();
  for (const auto& object : {node.name, condition_object(node.name), rail_object(node.name, 1)}) {
    const auto standing = standing_of(node, object, keys);
    if (!standing && !object.ends_with("rail1")) std::abort();
    if (!standing) continue;
    if ((standing->whose == Whose::weft) != standing->mark.has_value()) std::abort();
    const bool is_ours = standing->whose == Whose::weft;
    const Change change{.act = is_ours ? Act::take : Act::put,
                        .object = object,
                        .before = standing->text,
                        .set = is_ours                     ? "in service"
                               : object == node.name       ? taint_text(keys, "f:1")
                               : object.ends_with("rail1") ? mark_value("f:1")
                                                           : "weft: failed a id=f:1"};
    const auto patch = patch_for(node, change, keys, "");
    if (standing->whose == Whose::others ? patch.has_value() : !patch || !*patch) std::abort();
    if (!patch) continue;
    const auto body = nlohmann::json::parse((*patch)->body);
    if (body["metadata"]["resourceVersion"] != node.version) std::abort();
    if (object != node.name) continue;
    const auto others = std::ranges::count_if(node.taints, [&](const auto& taint) {
      return taint.key != keys.taint || !mark_in_value(taint.value);
    });
    if (std::ssize(body["spec"]["taints"]) != others + (is_ours ? 0 : 1)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto node = parse_kubernetes_node(text, "n1")) check(*node);
  if (const auto list = parse_kubernetes_nodes(text))
    for (const KubernetesNode& node : list->nodes) check(node);
  parse_kubernetes_status(text);
  static_cast<void>(parse_access_answer(text));
  return 0;
}
