#include "topology/files/ibnetdiscover.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::files {
namespace {

/// A cursor over one line of an ibnetdiscover dump: takes words, numbers and quoted texts off its front.
class DumpLine {
 public:
  explicit DumpLine(std::string_view text) : rest_(text) {}

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

  bool take(std::string_view what) {
    skip_blanks();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  template <class Number>
  std::optional<Number> number(int base = 10) {
    skip_blanks();
    if (base == 16 && rest_.starts_with("0x")) rest_.remove_prefix(2);
    Number value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// "text"; up to the last quote of the line when `greedy`, as a description may hold quotes itself.
  std::optional<std::string_view> quoted(bool greedy = false) {
    skip_blanks();
    if (!rest_.starts_with('"')) return std::nullopt;
    const auto close = greedy ? rest_.rfind('"') : rest_.find('"', 1);
    if (close == std::string_view::npos || close == 0) return std::nullopt;
    const auto text = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    return text;
  }

  /// The number behind `key`, anywhere in the rest of the line.
  std::optional<std::uint16_t> after(std::string_view key) const {
    const auto at = rest_.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    return DumpLine(rest_.substr(at + key.size())).number<std::uint16_t>();
  }

  /// The next word; empty: the line is over.
  std::string_view word() {
    skip_blanks();
    const auto text = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(text.size());
    return text;
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

enum class DumpedKind : std::uint8_t { adapter, switch_, router };

/// "S-0002c90200423e68", "H-..." or "R-...": the GUID and what it is.
struct NodeKey {
  Guid guid;
  DumpedKind kind = DumpedKind::adapter;
};

std::optional<NodeKey> node_key(std::string_view text) {
  if (text.size() < 3 || text[1] != '-') return std::nullopt;
  const auto guid = parse_whole_number<std::uint64_t>(text.substr(2), 16);
  if (!guid || *guid == 0) return std::nullopt;
  return NodeKey{Guid(*guid), text[0] == 'S'   ? DumpedKind::switch_
                              : text[0] == 'R' ? DumpedKind::router
                                               : DumpedKind::adapter};
}

IbSubnetNode node_of(const NodeKey& key, IbNode about) {
  return {.is_switch = key.kind == DumpedKind::switch_,
          .guid = key.guid,
          .about = std::move(about),
          .ports = {},
          .is_router = key.kind == DumpedKind::router};
}

std::optional<LidRange> lid_range(std::optional<std::uint16_t> lid, std::optional<std::uint16_t> lmc) {
  if (!lid || *lid == 0) return std::nullopt;
  return LidRange{Lid(*lid), static_cast<std::uint8_t>(std::min<std::uint16_t>(lmc.value_or(0), 7))};
}

/// One port line, whole.
struct PortLine {
  std::uint8_t number = 0;
  IbSubnetPort port;
  NodeKey far;
  std::optional<Guid> far_guid;
  std::string far_name;
};

/// "]" and, of -g, what stands on the front of a chassis: "[ext 5]".
bool take_bracket(DumpLine& line) {
  if (!line.take("]")) return false;
  if (!line.take("[ext ")) return true;
  return line.number<unsigned>().has_value() && line.take("]");
}

std::optional<Guid> take_guid(DumpLine& line) {
  if (!line.take("(")) return std::nullopt;
  const auto value = line.number<std::uint64_t>(16);
  return line.take(")") && value ? std::optional(Guid(*value)) : std::nullopt;
}

/// What follows '#': a CA's own `lid 1 lmc 0`, the other end's name, its lid, the width and speed.
void read_comment(DumpLine& line, PortLine& into) {
  if (line.take("lid")) {
    const auto lid = line.number<std::uint16_t>();
    const auto lmc = line.take("lmc") ? line.number<std::uint16_t>() : std::nullopt;
    into.port.lids = lid_range(lid, lmc);
  }
  if (const auto name = line.quoted(true)) into.far_name = outside_text(*name);
  for (auto word = line.word(); !word.empty(); word = line.word()) {  // 4xNDR
    const auto x = word.find('x');
    if (x == std::string_view::npos) continue;
    into.port.width = parse_link_width(word.substr(0, x + 1));
    into.port.speed = parse_link_speed(word.substr(x + 1));
    if (into.port.width) return;
  }
}

/// One end in a line of `ibnetdiscover -p`: `SW     2 19 0x0002c90200423e68`.
struct ReportEnd {
  DumpedKind kind = DumpedKind::adapter;
  std::optional<LidRange> lids;
  std::uint8_t port = 0;
  Guid guid;
};

std::optional<ReportEnd> take_report_end(DumpLine& line) {
  ReportEnd end;
  if (line.take("SW "))
    end.kind = DumpedKind::switch_;
  else if (line.take("RT "))
    end.kind = DumpedKind::router;
  else if (!line.take("CA "))
    return std::nullopt;
  end.lids = lid_range(line.number<std::uint16_t>(), 0);
  const auto port = line.number<std::uint8_t>();
  const auto guid = line.number<std::uint64_t>(16);
  if (!port || *port == 0 || !guid || *guid == 0) return std::nullopt;
  end.port = *port;
  end.guid = Guid(*guid);
  return end;
}

/// ( 'name' - 'other name' )
std::pair<std::string_view, std::string_view> names_in_report(std::string_view rest) {
  const auto open = rest.find("( '");
  const auto middle = rest.rfind("' - '");
  const auto close = rest.rfind("' )");
  if (open == std::string_view::npos || middle == std::string_view::npos || close < middle + 5 ||
      close == std::string_view::npos || middle < open + 3)
    return {};
  return {rest.substr(open + 3, middle - open - 3), rest.substr(middle + 5, close - middle - 5)};
}

class Reader {
 public:
  Result<IbSubnet> read(std::string_view text) {
    while (!text.empty()) {
      ++line_number_;
      const auto end = text.find('\n');
      const bool complete = end != std::string_view::npos;
      is_cut_ = !complete;
      const auto done = read_line(text.substr(0, end));
      text = complete ? text.substr(end + 1) : std::string_view();
      if (!done && complete) return pass_on(done);
      if (!done) subnet_.remarks.push_back(fmt::format("the dump ends within line {}", line_number_));
    }
    if (subnet_.nodes.empty())
      return fail(ErrorKind::invalid_input, "no node: expected the output of ibnetdiscover{}",
                  strangers_ == 0
                      ? ""
                      : fmt::format("; line {} is none of its lines: '{}'", stranger_at_, stranger_));
    if (strangers_ > 0)
      subnet_.remarks.push_back(fmt::format("{} lines are none of ibnetdiscover's, as line {}: '{}'",
                                            strangers_, stranger_at_, stranger_));
    add_missing_sides();
    return std::move(subnet_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> bad(fmt::format_string<Args...> what, Args&&... args) const {
    return fail(ErrorKind::invalid_input, "line {}: {}", line_number_,
                fmt::format(what, std::forward<Args>(args)...));
  }

  Result<void> read_line(std::string_view text) {
    DumpLine line(text);
    if (line.take("#") || text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    if (line.take("vendid=")) return assign(line, about_.vendor);
    if (line.take("devid=")) return assign(line, about_.device);
    if (line.take("sysimgguid=")) return assign_guid(line);
    if (line.take("Switch\t") || line.take("Switch ")) return begin_node(line, DumpedKind::switch_);
    for (const char* word : {"Ca\t", "Ca ", "Hca\t", "Hca "})
      if (line.take(word)) return begin_node(line, DumpedKind::adapter);
    if (line.take("Rt\t") || line.take("Rt ")) return begin_node(line, DumpedKind::router);
    if (line.take("[")) return take_port(line);
    for (const char* word : {"switchguid=", "caguid=", "rtguid="})  // the node line has it too
      if (line.take(word)) return {};
    for (const char* word : {"Chassis ", "Non-Chassis Nodes", "Hostname:"})  // of -g
      if (line.take(word)) return {};
    if (DumpLine report(text); take_report_end(report)) return take_report(text);
    return pass_over(text);
  }

  /// A warning of the program among what it wrote, as a rule.
  Result<void> pass_over(std::string_view text) {
    if (is_cut_) return bad("cut short");
    if (strangers_++ > 0) return {};
    stranger_at_ = line_number_;
    stranger_ = outside_text(text.substr(0, 60));
    return {};
  }

  /// A line of `ibnetdiscover -p`. It has the GUIDs of ports alone: of an adapter each is a node.
  Result<void> take_report(std::string_view text) {
    DumpLine line(text);
    const auto near = take_report_end(line);
    const auto width = parse_link_width(line.word());
    const auto speed = parse_link_speed(line.word());
    if (!line.take("- ")) return {};  // no cable
    const auto far = take_report_end(line);
    if (!far) return bad("expected the other end of the cable");
    const auto names = names_in_report(line.rest());
    const auto own = report_node(*near, names.first);
    report_node(*far, names.second);
    IbSubnetPort port{
        .guid = near->guid, .width = width, .speed = speed, .peer = IbSubnetPort::Peer{far->guid, far->port}};
    if (near->kind != DumpedKind::switch_) port.lids = near->lids;
    if (!subnet_.nodes[own].ports.emplace(near->port, port).second)
      return bad("port {} of 0x{:x} stands twice", near->port, near->guid.value());
    lines_.push_back({near->guid, PortLine{.number = near->port,
                                           .port = port,
                                           .far = {far->guid, far->kind},
                                           .far_guid = far->guid,
                                           .far_name = outside_text(names.second)}});
    return {};
  }

  std::size_t report_node(const ReportEnd& end, std::string_view name) {
    const auto [found, is_new] = index_.emplace(end.guid, subnet_.nodes.size());
    if (is_new) {
      subnet_.nodes.push_back(node_of({end.guid, end.kind}, {.description = outside_text(name)}));
      if (end.kind == DumpedKind::switch_) subnet_.nodes.back().about.lids = end.lids;
    }
    auto& count = subnet_.nodes[found->second].about.port_count;
    count = std::max(count, end.port);
    return found->second;
  }

  template <class Number>
  Result<void> assign(DumpLine& line, Number& field) {
    const auto value = line.number<Number>(16);
    if (!value) return bad("expected a hexadecimal number");
    field = *value;
    return {};
  }
  Result<void> assign_guid(DumpLine& line) {
    const auto value = line.number<std::uint64_t>(16);
    if (!value) return bad("expected a GUID");
    about_.system_guid = Guid(*value);
    return {};
  }

  /// `Switch	36 "S-0008f10500200040"		# "name" base port 0 lid 6 lmc 0`
  Result<void> begin_node(DumpLine& line, DumpedKind kind) {
    const auto ports = line.number<std::uint8_t>();
    const auto id = line.quoted();
    const auto key = id ? node_key(*id) : std::nullopt;
    if (!ports || *ports == 0 || !key)
      return bad("expected a port count and a node id, as in 36 \"S-0002c9...\"");
    about_.port_count = *ports;
    if (line.take("#"))
      if (const auto description = line.quoted(true)) about_.description = outside_text(*description);
    if (kind == DumpedKind::switch_) about_.lids = lid_range(line.after(" lid "), line.after(" lmc "));
    current_ = subnet_.nodes.size();
    if (!index_.emplace(key->guid, current_).second)
      return bad("node 0x{:x} stands twice", key->guid.value());
    subnet_.nodes.push_back(node_of(*key, std::exchange(about_, IbNode{})));
    return {};
  }

  /// `[1](2c903000e0b73) "S-0008f10500200040"[7](guid)	# lid 1 lmc 0 "name" lid 6 4xNDR`
  Result<void> take_port(DumpLine& line) {
    if (subnet_.nodes.empty()) return bad("a port before the first node");
    IbSubnetNode& node = subnet_.nodes[current_];
    PortLine read;
    const auto number = line.number<std::uint8_t>();
    if (!number || !take_bracket(line) || *number == 0 || *number > node.about.port_count)
      return bad("expected a port number from 1 to {} in brackets", node.about.port_count);
    read.number = *number;
    read.port.guid = take_guid(line).value_or(node.guid);
    const auto id = line.quoted();
    const auto key = id ? node_key(*id) : std::nullopt;
    std::optional<std::uint8_t> far;
    if (key && line.take("[")) far = line.number<std::uint8_t>();
    if (!far || *far == 0 || !take_bracket(line))
      return bad("expected the other end, as in \"S-0002c9...\"[7]");
    read.far = *key;
    read.port.peer = IbSubnetPort::Peer{key->guid, *far};
    read.far_guid = take_guid(line);
    if (line.take("#")) read_comment(line, read);
    if (!node.ports.emplace(*number, read.port).second) return bad("port {} stands twice", *number);
    lines_.push_back({node.guid, std::move(read)});
    return {};
  }

  /// A port or a node that only its neighbours speak of is there nevertheless.
  void add_missing_sides() {
    for (const auto& [guid, line] : lines_) {
      const auto& far = *line.port.peer;
      const auto [found, is_new] = index_.emplace(far.node, subnet_.nodes.size());
      if (is_new) {
        subnet_.nodes.push_back(node_of({far.node, line.far.kind}, {.description = line.far_name}));
        subnet_.remarks.push_back(fmt::format("node 0x{:x} '{}' is known from its neighbours alone",
                                              far.node.value(), line.far_name));
      }
      auto& node = subnet_.nodes[found->second];
      if (node.ports.contains(far.port)) continue;
      if (!is_new)
        subnet_.remarks.push_back(
            fmt::format("0x{:x} port {} is known from its other end alone", far.node.value(), far.port));
      node.about.port_count = std::max(node.about.port_count, far.port);
      node.ports[far.port] = IbSubnetPort{.guid = line.far_guid.value_or(far.node),
                                          .width = line.port.width,
                                          .speed = line.port.speed,
                                          .peer = IbSubnetPort::Peer{guid, line.number}};
    }
  }

  IbSubnet subnet_;
  IbNode about_;  // of the node whose line comes next
  std::size_t current_ = 0;
  std::size_t line_number_ = 0;
  bool is_cut_ = false;        // the line in hand has no end
  std::size_t strangers_ = 0;  // lines that ibnetdiscover does not write; the first of them:
  std::size_t stranger_at_ = 0;
  std::string stranger_;
  std::unordered_map<Guid, std::size_t> index_;
  std::vector<std::pair<Guid, PortLine>> lines_;
};

}  // namespace

Result<IbSubnet> parse_ibnetdiscover(std::string_view text) { return Reader().read(text); }

}  // namespace weft::files
