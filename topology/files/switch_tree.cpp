#include "topology/files/switch_tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "topology/base/host_list.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/yaml_fields.hpp"
#include "topology/files/yaml_tree.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kMaxHosts = 1'000'000;  // of all switches
constexpr std::size_t kMaxLevels = 32;        // of switches
constexpr std::size_t kMaxShown = 60;         // of a word in a message

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return text;
}

class TreeReader {
 public:
  explicit TreeReader(std::string file) { tree_.source = std::move(file); }

  /// A switch with what is right under it: hosts, or other switches, as lists; empty: none.
  Result<void> add(std::size_t line, std::string_view name, std::string_view hosts,
                   std::string_view children) {
    if (hosts.empty() && children.empty()) {
      if (!name.empty()) names_.insert(outside_text(name));
      return {};
    }
    if (name.empty()) return wrong(line, "a switch without a name has nodes");
    const std::string its = outside_text(name);
    if (!hosts.empty() && !children.empty())
      return wrong(line, fmt::format("{} has nodes and switches under it", its));
    if (!names_.insert(its).second) return wrong(line, fmt::format("{} is there twice", its));
    WEFT_TRY(auto below,
             under(line, its, hosts.empty() ? children : hosts, hosts.empty() ? above_switch_ : above_host_));
    if (hosts.empty())
      tree_.above.push_back({its, std::move(below)});
    else
      tree_.switches.push_back({its, std::move(below)});
    return {};
  }
  void leave_out_block() { ++blocks_; }
  /// Another tree of the same file may have the same hosts under other switches.
  bool has_switches() const { return !tree_.switches.empty(); }
  void remark(std::string text) { tree_.remarks.push_back(std::move(text)); }

  [[nodiscard]] tl::unexpected<Error> wrong(std::size_t line, std::string_view what) const {
    return fail(ErrorKind::invalid_input, "{}:{}: {}", tree_.source, line, what);
  }

  Result<SwitchTree> finish() && {
    if (tree_.switches.empty() && blocks_ > 0)
      return fail(ErrorKind::invalid_input,
                  "{}: it has blocks alone (topology/block: NVLink domains), which say nothing of switches: "
                  "expected a tree",
                  tree_.source);
    if (tree_.switches.empty())
      return fail(ErrorKind::invalid_input,
                  "{}: no switch of it has nodes: expected `SwitchName=NAME Nodes=LIST` (topology.conf) or "
                  "`tree: {{switches: [{{switch: NAME, nodes: LIST}}]}}` (topology.yaml)",
                  tree_.source);
    WEFT_TRY_VOID(is_a_tree());
    for (const auto& [name, parent] : above_switch_)
      if (!names_.contains(name))
        remark(fmt::format("{} is under {}, and no line says what is under it", name, parent));
    if (blocks_ > 0) remark(fmt::format("{} blocks are NVLink domains, no switches: left out", blocks_));
    return std::move(tree_);
  }

 private:
  using Above = std::map<std::string, std::string>;  // the switch above each

  Result<std::vector<std::string>> under(std::size_t line, const std::string& name, std::string_view list,
                                         Above& above) const {
    auto names = expand_hosts(list);
    if (!names) return wrong(line, names.error().message);
    for (const std::string& one : *names)
      if (const auto [at, is_new] = above.emplace(one, name); !is_new)
        return wrong(line, fmt::format("{} is under {} and under {}", one, at->second, name));
    if (above.size() > kMaxHosts) return wrong(line, fmt::format("more than {} nodes", kMaxHosts));
    return std::move(*names);
  }

  /// Each switch has one above it, or none: there is a circle where the way up does not end.
  Result<void> is_a_tree() const {
    for (const auto& [name, parent] : above_switch_) {
      std::size_t steps = 0;
      for (auto at = above_switch_.find(name); at != above_switch_.end(); at = above_switch_.find(at->second))
        if (++steps > kMaxLevels)
          return fail(ErrorKind::invalid_input, "{}: {} is below itself, or under more than {} switches",
                      tree_.source, name, kMaxLevels);
    }
    return {};
  }

  SwitchTree tree_;
  std::set<std::string> names_;
  Above above_host_, above_switch_;
  std::size_t blocks_ = 0;
};

/// The next line with what follows a backslash at its end, without its comment; `line` is its number.
std::string take_line(std::string_view& rest, std::size_t& line, std::size_t& lines) {
  std::string whole;
  line = lines + 1;
  for (bool goes_on = true; goes_on && !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++lines;
    text = text.substr(0, text.find('#'));
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    goes_on = text.ends_with('\\');
    if (goes_on) text.remove_suffix(1);
    whole += text;
  }
  return whole;
}

struct Setting {
  std::string key;  // in small letters
  std::string_view value;
};

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

/// `KEY=VALUE` of a line, up to the next blank outside brackets; blanks may stand beside the equals sign.
std::optional<Setting> take_setting(std::string_view& rest) {
  skip_blanks(rest);
  if (rest.empty()) return std::nullopt;
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '=' && !is_blank(rest[end])) ++end;
  Setting setting{lower(rest.substr(0, end)), {}};
  rest.remove_prefix(end);
  skip_blanks(rest);
  if (!rest.starts_with('=')) return setting;
  rest.remove_prefix(1);
  skip_blanks(rest);
  end = 0;
  for (bool inside = false; end < rest.size() && (inside || !is_blank(rest[end])); ++end)
    inside = rest[end] == '[' || (inside && rest[end] != ']');
  setting.value = rest.substr(0, end);
  rest.remove_prefix(end);
  if (auto& value = setting.value; value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value.remove_prefix(1);
    value.remove_suffix(1);
  }
  return setting;
}

Result<SwitchTree> parse_conf(std::string_view text, const std::string& file) {
  TreeReader reader(file);
  for (std::size_t lines = 0, line = 0; !text.empty();) {
    const std::string whole = take_line(text, line, lines);
    std::string_view rest = whole;
    std::string_view name, nodes, children;
    bool is_block = false;
    std::set<std::string> keys;
    while (const auto setting = take_setting(rest)) {
      if (!keys.insert(setting->key).second)
        return reader.wrong(
            line, fmt::format("'{}' is there twice", outside_text(setting->key.substr(0, kMaxShown))));
      if (std::ranges::count(setting->value, '[') != std::ranges::count(setting->value, ']'))
        return reader.wrong(line, "a '[' is not closed");
      if (setting->key == "switchname")
        name = setting->value;
      else if (setting->key == "nodes")
        nodes = setting->value;
      else if (setting->key == "blockname" || setting->key == "blocksizes")
        is_block = true;
      else if (setting->key == "include")
        return reader.wrong(line, "it includes another file: give that one, or one with all switches in it");
      else if (setting->key == "switches")
        children = setting->value;
      else if (setting->key != "linkspeed")
        return reader.wrong(line, fmt::format("'{}' is not known: expected SwitchName=, Nodes=, Switches=",
                                              outside_text(setting->key.substr(0, kMaxShown))));
    }
    if (is_block && !name.empty()) return reader.wrong(line, "a switch and a block in one line");
    if (is_block)
      reader.leave_out_block();
    else
      WEFT_TRY_VOID(reader.add(line, name, nodes, children));
  }
  return std::move(reader).finish();
}

std::optional<YamlView> value_of(YamlView map, std::string_view key) {
  if (map.kind() != YamlKind::map) return std::nullopt;
  for (auto at = map.first(); at;) {
    const auto value = at->next();
    if (!value || at->text() == key) return value;
    at = value->next();
  }
  return std::nullopt;
}

/// A list of names as one text; empty where it is null or not there.
Result<std::string_view> list_of(const YamlFields& fields, std::string_view key) {
  constexpr std::array<std::string_view, 2> kNulls{"~", "null"};
  const auto value = fields.find(key);
  if (!value) return "";
  if (value->kind() != YamlKind::scalar)
    return value->error("{}: expected a list of names as one text, found {}", key, value->described());
  return std::ranges::find(kNulls, value->text()) != kNulls.end() ? "" : value->text();
}

Result<void> read_switches(YamlView list, TreeReader& reader) {
  if (list.kind() != YamlKind::sequence)
    return list.error("switches: expected a list, found {}", list.described());
  for (auto one = list.first(); one; one = one->next()) {
    if (one->kind() != YamlKind::map) return one->error("expected a switch, found {}", one->described());
    constexpr std::array<std::string_view, 3> kKeys{"switch", "nodes", "children"};
    WEFT_TRY(const auto fields, YamlFields::read(*one, "a switch", kKeys));
    const auto name = fields.find("switch");
    WEFT_TRY(const auto nodes, list_of(fields, "nodes"));
    WEFT_TRY(const auto children, list_of(fields, "children"));
    WEFT_TRY_VOID(reader.add(one->line(), name ? name->text() : "", nodes, children));
  }
  return {};
}

Result<SwitchTree> parse_yaml(std::string_view text, const std::string& file) {
  WEFT_TRY(const auto document, YamlTree::parse(text, file));
  TreeReader reader(file);
  const YamlView root = document.root();
  if (root.kind() != YamlKind::sequence) return root.error("expected a list of topologies");
  for (auto topology = root.first(); topology; topology = topology->next()) {
    if (value_of(*topology, "block")) reader.leave_out_block();
    const auto tree = value_of(*topology, "tree");
    const auto switches = tree ? value_of(*tree, "switches") : std::nullopt;
    if (!switches) continue;
    if (reader.has_switches()) return topology->error("it has several trees: give a file with one");
    WEFT_TRY_VOID(read_switches(*switches, reader));
  }
  return std::move(reader).finish();
}

}  // namespace

Result<SwitchTree> parse_switch_tree(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // YAML begins with a list, a "---" or a directive; a line of topology.conf with a letter.
  constexpr std::string_view kBeginsYaml = "-[{%";
  std::size_t lines = 0, line = 0;
  for (auto rest = text; !rest.empty();) {
    const std::string whole = take_line(rest, line, lines);
    const auto first = std::ranges::find_if_not(whole, is_blank);
    if (first != whole.end())
      return kBeginsYaml.find(*first) != std::string_view::npos ? parse_yaml(text, file)
                                                                : parse_conf(text, file);
  }
  return fail(ErrorKind::invalid_input, "{}: it is empty", file);
}

}  // namespace weft::files
