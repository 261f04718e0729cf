// Whatever an API server answers of DeviceTaintRules: an error, or rules of which one is ours only where it
// has our name and mark, and is taken off for the very version that was read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/kubernetes_devices.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::exports;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto versions = parse_api_versions(text))
    for (const auto& version : *versions)
      if (version.find('/') != std::string::npos) std::abort();
  static_cast<void>(has_device_rules(text));
  const auto list = parse_device_rules(text);
  if (!list) return 0;
  const KubernetesKeys keys{.driver = "dra.net", .device = "mlx5-%", .fabric = "f"};
  DeviceRulesByName rules;
  for (const DeviceRule& rule : list->rules) rules.emplace(rule.name, rule);
  for (const auto& name : marked_devices(rules, keys)) {
    const auto object = parse_kubernetes_object(name);
    if (!object) std::abort();
    const auto standing = device_standing(rules, *object, keys);
    if (standing.whose != Whose::weft || !standing.mark) std::abort();
    const auto call = device_call(
        rules, {.act = Act::take, .target = "kubernetes", .object = name, .before = standing.text, .set = ""},
        keys, "v1");
    if (!call || !*call || (*call)->method != "DELETE") std::abort();
  }
  return 0;
}
