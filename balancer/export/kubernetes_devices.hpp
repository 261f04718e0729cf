// Single devices of a node, as dynamic resource allocation has them: a NIC that is out of use has a
// DeviceTaintRule (group resource.k8s.io) of its own, which is wholly weft's. Pure: names, bodies, answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/export/kubernetes_words.hpp"

namespace weft::exports {

struct DeviceRule {
  std::string name, version, uid;  // version: resourceVersion
  std::string driver, pool, device;
  std::string key, value, effect;  // of the taint
  friend bool operator==(const DeviceRule&, const DeviceRule&) = default;
};
struct DeviceRules {
  std::vector<DeviceRule> rules;
  std::string next;  // names the next part of the list; empty: this was the last
};
/// Of a list in any version of the API. Errors: invalid_input, no whole list, or a rule twice.
Result<DeviceRules> parse_device_rules(std::string_view text);

/// The versions of the group that a server has, the one that it prefers first (APIGroup). Error:
/// invalid_input.
Result<std::vector<std::string>> parse_api_versions(std::string_view text);
/// Whether a version has DeviceTaintRules (APIResourceList). Error: invalid_input.
Result<bool> has_device_rules(std::string_view text);

/// The rule of a rail of a node: a name that no other fabric, node or rail gives.
std::string device_rule_name(const KubernetesKeys& keys, std::string_view node, std::uint32_t rail);
/// What stands there with this mark, as people read it.
std::string device_text(const KubernetesKeys& keys, std::string_view node, std::uint32_t rail,
                        std::string_view mark);

/// By name.
using DeviceRulesByName = std::map<std::string, DeviceRule, std::less<>>;
Standing device_standing(const DeviceRulesByName& rules, const KubernetesObject& object,
                         const KubernetesKeys& keys);
/// Objects of rules with a mark of this fabric.
std::vector<std::string> marked_devices(const DeviceRulesByName& rules, const KubernetesKeys& keys);

/// A call that makes a change of a rule; absent: it is as it should be. `version`: of the API. Error:
/// conflict, what stands there is not what the change was planned for.
struct DeviceCall {
  std::string method, path, body, content_type;
};
Result<std::optional<DeviceCall>> device_call(const DeviceRulesByName& rules, const Change& change,
                                              const KubernetesKeys& keys, std::string_view version);

/// What an operator types to make that change; `version`: of the API that the server has.
std::string device_line(const KubernetesKeys& keys, const KubernetesObject& object, const Change& change,
                        std::string_view version);

}  // namespace weft::exports
