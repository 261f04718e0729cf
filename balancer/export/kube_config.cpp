#include "balancer/export/kube_config.hpp"

#include <array>

#include "topology/base/outside_text.hpp"
#include "topology/files/yaml_tree.hpp"

namespace weft::exports {
namespace {

using files::YamlKind;
using files::YamlView;

/// What would be passed over without a word, and is meant to do something.
constexpr auto kNotOfClusters = std::to_array<std::string_view>({"proxy-url", "tls-server-name"});
constexpr auto kNotOfUsers =
    std::to_array<std::string_view>({"exec", "auth-provider", "username", "password", "as", "as-uid"});

/// The value of a key of a map; absent: it has none.
std::optional<YamlView> member(YamlView map, std::string_view key) {
  if (map.kind() != YamlKind::map) return std::nullopt;
  for (auto at = map.first(); at;) {
    const auto value = at->next();
    if (!value) return std::nullopt;
    if (at->text() == key && value->kind() != YamlKind::null) return value;
    at = value->next();
  }
  return std::nullopt;
}

Result<std::string> text_of(YamlView map, std::string_view key) {
  const auto value = member(map, key);
  if (!value) return std::string();
  if (value->kind() != YamlKind::scalar)
    return value->error("{}: expected a text, not {}", key, value->described());
  return std::string(value->text());
}

/// Of a list of things with a name, what stands at `key` of that one.
Result<YamlView> named(YamlView root, std::string_view list, std::string_view name, std::string_view key) {
  if (const auto all = member(root, list); all && all->kind() == YamlKind::sequence)
    for (auto one = all->first(); one; one = one->next()) {
      const auto its = member(*one, "name");
      if (!its || its->text() != name) continue;
      if (const auto value = member(*one, key); value && value->kind() == YamlKind::map) return *value;
      return one->error("{} '{}' has no {}", list, outside_text(name), key);
    }
  return root.error("there is no '{}' in {}", outside_text(name), list);
}

template <class Keys>
Result<void> refuse(YamlView map, const Keys& keys) {
  for (const std::string_view key : keys)
    if (const auto value = member(map, key))
      return value->error(
          "{}: weft does not do that: give it a token or a client certificate (kubectl create token)", key);
  return {};
}

class Reader {
 public:
  Reader(YamlView root, const std::filesystem::path& file) : root_(root), folder_(file.parent_path()) {}

  Result<KubeConfig> read(std::string_view context) {
    std::string name(context);
    if (name.empty()) {
      WEFT_TRY(name, text_of(root_, "current-context"));
    }
    if (name.empty()) return root_.error("it has no current-context: expected --kube-context NAME");
    WEFT_TRY(const auto its, named(root_, "contexts", name, "context"));
    WEFT_TRY(const auto cluster, text_of(its, "cluster"));
    WEFT_TRY(const auto user, text_of(its, "user"));
    KubeConfig config;
    WEFT_TRY_VOID(take_cluster(cluster, config));
    WEFT_TRY_VOID(take_user(user, config));
    return config;
  }

 private:
  Result<void> take_cluster(const std::string& name, KubeConfig& config) {
    WEFT_TRY(const auto view, named(root_, "clusters", name, "cluster"));
    WEFT_TRY_VOID(refuse(view, kNotOfClusters));
    WEFT_TRY(const auto unverified, text_of(view, "insecure-skip-tls-verify"));
    if (!unverified.empty() && unverified != "false")
      return view.error("insecure-skip-tls-verify: the token would go to whoever answers");
    WEFT_TRY(config.server, text_of(view, "server"));
    if (config.server.empty()) return view.error("cluster '{}' has no server", outside_text(name));
    WEFT_TRY(config.ca, source(view, "certificate-authority"));
    return {};
  }

  Result<void> take_user(const std::string& name, KubeConfig& config) {
    WEFT_TRY(const auto view, named(root_, "users", name, "user"));
    WEFT_TRY_VOID(refuse(view, kNotOfUsers));
    WEFT_TRY(config.token, text_of(view, "token"));
    WEFT_TRY(config.token_file, path(view, "tokenFile"));
    WEFT_TRY(config.certificate, source(view, "client-certificate"));
    WEFT_TRY(config.key, source(view, "client-key"));
    if (config.certificate.empty() != config.key.empty())
      return view.error("user '{}': a client certificate and its key go together", outside_text(name));
    if (config.certificate.empty() && config.token.empty() && config.token_file.empty())
      return view.error("user '{}' has neither a token nor a client certificate", outside_text(name));
    return {};
  }

  Result<std::filesystem::path> path(YamlView map, std::string_view key) const {
    WEFT_TRY(const auto text, text_of(map, key));
    if (text.empty()) return std::filesystem::path();
    return folder_ / text;  // text, where it is absolute
  }

  /// What stands in the file itself wins, as with kubectl.
  Result<KubeConfig::Source> source(YamlView map, const std::string& key) const {
    KubeConfig::Source found;
    WEFT_TRY(found.base64, text_of(map, key + "-data"));
    if (found.base64.empty()) {
      WEFT_TRY(found.file, path(map, key));
    }
    return found;
  }

  YamlView root_;
  std::filesystem::path folder_;
};

}  // namespace

Result<KubeConfig> parse_kube_config(std::string_view text, const std::filesystem::path& file,
                                     std::string_view context) {
  WEFT_TRY(const auto tree, files::YamlTree::parse(text, file.string()));
  return Reader(tree.root(), file).read(context);
}

}  // namespace weft::exports
