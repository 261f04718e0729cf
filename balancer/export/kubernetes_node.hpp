// A node as the API server tells of it (v1 Node, NodeList, Status), what stands there, and the patch that
// makes a change to it. Pure. Each patch names the resourceVersion that the node must still have, so that
// nobody's change between reading and writing is lost.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/export/kubernetes_words.hpp"

namespace weft::exports {

struct KubernetesNode {
  struct Taint {
    std::string key, value, effect;
    std::string json;  // with all that the server told of it
    friend bool operator==(const Taint&, const Taint&) = default;
  };
  struct Condition {
    std::string type, status, message;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  std::string name, version;  // resourceVersion
  bool is_cordoned = false;
  bool is_being_deleted = false;
  std::vector<Taint> taints{};
  std::vector<Condition> conditions{};
  std::map<std::string, std::string> labels{};
  friend bool operator==(const KubernetesNode&, const KubernetesNode&) = default;
};

/// Error: invalid_input, no whole answer, none of that kind, or of another node.
Result<KubernetesNode> parse_kubernetes_node(std::string_view text, std::string_view name);

struct KubernetesNodes {
  std::vector<KubernetesNode> nodes;
  std::string next;  // names the next part of the list; empty: this was the last
};
/// Errors: invalid_input, as above, or a node twice.
Result<KubernetesNodes> parse_kubernetes_nodes(std::string_view text);

/// What a refusal says (kind Status); empty: it is none of Kubernetes'.
struct KubernetesStatus {
  std::string reason, message;
};
KubernetesStatus parse_kubernetes_status(std::string_view text);

/// Whether an access review allows it, and why not. Error: invalid_input.
struct AccessAnswer {
  bool is_allowed = false;
  std::string reason;
};
/// `group`: empty is that of nodes.
std::string access_question(std::string_view verb, std::string_view resource, std::string_view subresource,
                            std::string_view group = {});
Result<AccessAnswer> parse_access_answer(std::string_view text);

/// What stands at an object of that node; absent: the node has no such label.
std::optional<Standing> standing_of(const KubernetesNode& node, const std::string& object,
                                    const KubernetesKeys& keys);

/// The objects of that node with a mark of the form that weft's have.
std::vector<std::string> marked_objects(const KubernetesNode& node, const KubernetesKeys& keys);

/// A PATCH of a node, or of its status.
struct NodePatch {
  bool of_status = false;
  std::string body;  // a merge patch; of a status a strategic one
};
/// What makes that change of that node; absent: it is as it should be. `time`: now, in RFC 3339. Error:
/// conflict, what stands there is not what the change was planned for.
Result<std::optional<NodePatch>> patch_for(const KubernetesNode& node, const Change& change,
                                           const KubernetesKeys& keys, std::string_view time);

}  // namespace weft::exports
