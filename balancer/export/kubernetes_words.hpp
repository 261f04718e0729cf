// Kubernetes' words: names of nodes, the taint, condition and labels that weft sets on them, how a mark is
// written into each, and the kubectl lines that do the same by hand. Pure. Of API version v1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balancer/export/target.hpp"
#include "topology/files/json_view.hpp"
#include "topology/model/fabric.hpp"

namespace weft::exports {

/// What is set on a node, by the site's choice.
struct KubernetesKeys {
  std::string taint = "weft/fabric";
  std::string effect = "NoSchedule";  // PreferNoSchedule, NoExecute
  std::string condition = "WeftFabric";
  std::string rail = "weft/rail";  // of a label; the number of the rail follows
  /// Of dynamic resource allocation: whose devices NICs are, and how that driver calls that of a rail (`%` is
  /// its number). A rail is then a taint of that device and no label. Empty: there is none.
  std::string driver{}, device{};
  std::string fabric{};  // whose marks are ours: those of other fabrics are others'; empty: all of that form
};
/// Error: usage, what the API would refuse, or two that are one.
Result<void> check_keys(const KubernetesKeys& keys);

/// What the API server is called in errors about its answers.
inline constexpr std::string_view kKubernetesAnswer = "the answer of the API server";
/// An answer of bounded size and depth. Error: invalid_input.
Result<nlohmann::json> parse_kubernetes_answer(std::string_view text);
/// Error: invalid_input, it is another kind of object.
Result<void> check_kubernetes_kind(const files::JsonView& root, std::string_view kind);

/// A name of a node (DNS subdomain of RFC 1123): nothing in it is to be escaped in a URL or a shell.
bool is_node_name(std::string_view name);

/// The value of a rail's label where the rail may be used.
inline constexpr std::string_view kRailInUse = "ok";

/// `KEY=VALUE:EFFECT` of a mark.
std::string taint_text(const KubernetesKeys& keys, std::string_view mark);
/// `weft: VERDICT LINK id=ID`, and as much of all evidence as there is room for.
std::string condition_message(const Fabric& fabric, const blacklist::Entry& entry,
                              std::string_view ledger_fabric);

/// Each mark is an object of its own: the taint of a node (`gpu001`), its condition (`gpu001:condition`), the
/// label of a rail (`gpu001:rail3`), and the taint of its device (`gpu001:device3`).
struct KubernetesObject {
  enum class Part : std::uint8_t { taint, condition, rail, device };
  std::string node;
  Part part = Part::taint;
  std::uint32_t rail = 0;  // of a label or a device
};
std::string condition_object(std::string_view node);
std::string rail_object(std::string_view node, std::uint32_t rail);
std::string device_object(std::string_view node, std::uint32_t rail);
/// Absent: it is no object of Kubernetes.
std::optional<KubernetesObject> parse_kubernetes_object(std::string_view object);

/// The body that sets the condition to a message, or takes it off; as a strategic merge patch of the status.
/// `version`: empty, or the resourceVersion that the node must still have. `time`: of the transition, in
/// RFC 3339; empty: not told.
std::string condition_patch(const KubernetesKeys& keys, std::string_view message, std::string_view version,
                            std::string_view time);
std::string no_condition_patch(const KubernetesKeys& keys, std::string_view version);

/// What an operator types to make that change of a node.
std::string kubectl_line(const KubernetesKeys& keys, const Change& change);

}  // namespace weft::exports
