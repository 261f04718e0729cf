#include "balancer/export/kubernetes_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "balancer/export/slurm_node.hpp"
#include "topology/base/json_limits.hpp"

namespace weft::exports {
namespace {

using Part = KubernetesObject::Part;

/// Of an answer: 100 nodes with all their images and managed fields have some 200,000 values.
constexpr JsonLimits kLimits{.bytes = 32'000'000, .depth = 64, .values = 2'000'000};
constexpr std::size_t kMaxNode = 253;      // DNS subdomain
constexpr std::size_t kMaxName = 63;       // of a key after its prefix, of a value
constexpr std::size_t kMaxType = 316;      // of a condition: a qualified name
constexpr std::size_t kMaxMessage = 1000;  // kubectl describe shows it in one line
constexpr std::string_view kCondition = "condition", kRail = "rail", kDevice = "device";
constexpr std::array<std::string_view, 3> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alnum(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

/// Letters and digits at both ends, `-_.` between.
bool is_qualified(std::string_view name, std::size_t longest) {
  return !name.empty() && name.size() <= longest && is_alnum(name.front()) && is_alnum(name.back()) &&
         std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

/// `NAME` or `DNS.SUBDOMAIN/NAME`.
bool is_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return is_qualified(key, kMaxName);
  return is_node_name(key.substr(0, slash)) && is_qualified(key.substr(slash + 1), kMaxName);
}

std::string merge_patch_of(std::string_view version, nlohmann::ordered_json condition) {
  nlohmann::ordered_json patch;
  if (!version.empty()) patch["metadata"]["resourceVersion"] = version;
  patch["status"]["conditions"] = nlohmann::ordered_json::array({std::move(condition)});
  // A message of a ledger that is no UTF-8 ends no program.
  return patch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A CamelCase word, as reasons are: of `weft: failed host1--leaf1 ...` FabricFailed.
std::string reason_of(std::string_view message) {
  if (message.starts_with(kReasonPrefix)) message.remove_prefix(kReasonPrefix.size());
  std::string word;
  for (const char c : message.substr(0, message.find(' ')))
    if (is_alnum(c)) word += c;
  if (!word.empty() && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 32);
  return "Fabric" + word;
}

std::string patch_line(const std::string& node, const std::string& body) {
  return fmt::format("kubectl patch node {} --subresource=status --type=strategic -p {}", node,
                     shell_word(body));
}

/// Of each taint in a list with commas: as it is, or with the `-` that takes it off.
std::string taint_words(std::string_view taints, std::string_view end) {
  std::string words;
  while (!taints.empty()) {
    const auto comma = std::min(taints.find(','), taints.size());
    words += " " + shell_word(std::string(taints.substr(0, comma)) + std::string(end));
    taints.remove_prefix(std::min(comma + 1, taints.size()));
  }
  return words;
}

}  // namespace

Result<void> check_keys(const KubernetesKeys& keys) {
  for (const std::string& key : {keys.taint, keys.rail + "1"})
    if (!is_key(key))
      return fail(ErrorKind::usage, "'{}': expected a key of Kubernetes: NAME or DNS.SUBDOMAIN/NAME", key);
  for (const std::string& key : {keys.taint, keys.rail})
    if (const auto domain = key.substr(0, key.find('/'));
        domain != key && (domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")))
      return fail(ErrorKind::usage, "'{}' is a key of Kubernetes' own", key);
  if (std::ranges::find(kEffects, keys.effect) == kEffects.end())
    return fail(ErrorKind::usage, "'{}': expected NoSchedule, PreferNoSchedule or NoExecute", keys.effect);
  if (!is_qualified(keys.condition, kMaxType))
    return fail(ErrorKind::usage, "'{}': expected a type of a node's condition, as WeftFabric",
                keys.condition);
  if (!keys.driver.empty()) {
    std::string device = keys.device;
    if (const auto at = device.find('%'); at != std::string::npos) device.replace(at, 1, "1");
    if (!is_node_name(keys.driver) || device == keys.device || !is_node_name(device) ||
        device.size() > kMaxName)
      return fail(ErrorKind::usage,
                  "'{}/{}': expected a driver and its name of a device with % for the number of the rail, as "
                  "dra.net/mlx5-%",
                  keys.driver, keys.device);
    if (keys.effect == "PreferNoSchedule")
      return fail(ErrorKind::usage, "a device's taint is NoSchedule or NoExecute, not {}", keys.effect);
  }
  // What the kubelet and the control plane write by themselves.
  for (const std::string_view type :
       {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
    if (keys.condition == type) return fail(ErrorKind::usage, "'{}' is a condition of Kubernetes' own", type);
  return {};
}

bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNode) return false;
  bool is_start = true;  // of a label between dots
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_end = i + 1 == name.size() || name[i + 1] == '.';
    if (name[i] == '.' ? is_start : !is_lower_or_digit(name[i]) && (name[i] != '-' || is_start || is_end))
      return false;
    is_start = name[i] == '.';
  }
  return !is_start;
}

std::string taint_text(const KubernetesKeys& keys, std::string_view mark) {
  return fmt::format("{}={}:{}", keys.taint, mark_value(mark), keys.effect);
}

std::string condition_message(const Fabric& fabric, const blacklist::Entry& entry,
                              std::string_view ledger_fabric) {
  std::string why = entry.reason;
  for (const std::string& line : entry.evidence) why += (why.empty() ? "" : "; ") + line;
  return mark_reason(fabric, entry, ledger_fabric, why, kMaxMessage);
}

std::string condition_object(std::string_view node) { return fmt::format("{}:{}", node, kCondition); }
std::string rail_object(std::string_view node, std::uint32_t rail) {
  return fmt::format("{}:{}{}", node, kRail, rail);
}

std::string device_object(std::string_view node, std::uint32_t rail) {
  return fmt::format("{}:{}{}", node, kDevice, rail);
}

std::optional<KubernetesObject> parse_kubernetes_object(std::string_view object) {
  const auto colon = object.find(':');
  const auto node = object.substr(0, colon);
  if (!is_node_name(node)) return std::nullopt;
  if (colon == std::string_view::npos) return KubernetesObject{std::string(node)};
  auto part = object.substr(colon + 1);
  if (part == kCondition) return KubernetesObject{std::string(node), Part::condition};
  const bool is_device = part.starts_with(kDevice);
  if (!is_device && !part.starts_with(kRail)) return std::nullopt;
  part.remove_prefix(is_device ? kDevice.size() : kRail.size());
  std::uint32_t rail = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), rail);
  if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return KubernetesObject{std::string(node), is_device ? Part::device : Part::rail, rail};
}

std::string condition_patch(const KubernetesKeys& keys, std::string_view message, std::string_view version,
                            std::string_view time) {
  nlohmann::ordered_json condition;
  condition["type"] = keys.condition;
  condition["status"] = "True";
  condition["reason"] = reason_of(message);
  condition["message"] = message;
  if (!time.empty()) condition["lastTransitionTime"] = time, condition["lastHeartbeatTime"] = time;
  return merge_patch_of(version, std::move(condition));
}

std::string no_condition_patch(const KubernetesKeys& keys, std::string_view version) {
  nlohmann::ordered_json condition;
  condition["$patch"] = "delete";
  condition["type"] = keys.condition;
  return merge_patch_of(version, std::move(condition));
}

std::string kubectl_line(const KubernetesKeys& keys, const Change& change) {
  const auto object = parse_kubernetes_object(change.object);
  if (!object) return {};
  const bool is_take = change.act == Act::take;
  switch (object->part) {
    case Part::taint:
      return fmt::format("kubectl taint nodes{} {}{}", change.act == Act::pass ? " --overwrite" : "",
                         object->node, taint_words(is_take ? change.before : change.set, is_take ? "-" : ""));
    case Part::condition:
      return patch_line(object->node,
                        is_take ? no_condition_patch(keys, "") : condition_patch(keys, change.set, "", ""));
    case Part::rail:
      return fmt::format("kubectl label --overwrite node {} {}", object->node,
                         shell_word(fmt::format("{}{}={}", keys.rail, object->rail,
                                                is_take ? kRailInUse : std::string_view(change.set))));
    case Part::device:
      break;
  }
  return {};
}

Result<nlohmann::json> parse_kubernetes_answer(std::string_view text) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  return files::parse_json(text, kKubernetesAnswer);
}

Result<void> check_kubernetes_kind(const files::JsonView& root, std::string_view kind) {
  WEFT_TRY(const auto found, root.need("kind"));
  WEFT_TRY(const auto text, found.text());
  if (text != kind) return found.error("expected {}, not {}", kind, text);
  return {};
}

}  // namespace weft::exports
