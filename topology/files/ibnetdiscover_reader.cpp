#include "topology/files/ibnetdiscover.hpp"

#include "topology/base/outside_text.hpp"
#include "topology/files/ibnetdiscover_line.hpp"

namespace weft {
namespace {

/// "S-0002c90200423e68" or "H-...": the GUID and whether it is a switch.
struct NodeKey {
  Guid guid;
  bool is_switch = false;
};

std::optional<NodeKey> node_key(std::string_view text) {
  if (text.size() < 3 || text[1] != '-') return std::nullopt;
  std::uint64_t guid = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), guid, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return NodeKey{Guid(guid), text[0] == 'S'};
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
  const auto word = line.last_word();  // 4xNDR
  const auto x = word.find('x');
  if (x == std::string_view::npos) return;
  into.port.width = parse_link_width(word.substr(0, x + 1));
  into.port.speed = parse_link_speed(word.substr(x + 1));
}

class Reader {
 public:
  Result<IbSubnet> read(std::string_view text) {
    while (!text.empty()) {
      ++line_number_;
      const auto end = text.find('\n');
      const bool complete = end != std::string_view::npos;
      const auto done = read_line(text.substr(0, end));
      text = complete ? text.substr(end + 1) : std::string_view();
      if (!done && complete) return pass_on(done);
      if (!done) subnet_.remarks.push_back(fmt::format("the dump ends within line {}", line_number_));
    }
    if (subnet_.nodes.empty())
      return fail(ErrorKind::invalid_input, "no node: expected the output of ibnetdiscover");
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
    if (line.take("Switch")) return begin_node(line, true);
    if (line.take("Ca") || line.take("Hca") || line.take("Rt")) return begin_node(line, false);
    if (line.take("[")) return take_port(line);
    if (text.find('=') != std::string_view::npos) return {};  // switchguid=: the node line has it too
    return bad("'{}' is no line of an ibnetdiscover dump", outside_text(text.substr(0, 60)));
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
  Result<void> begin_node(DumpLine& line, bool is_switch) {
    const auto ports = line.number<std::uint8_t>();
    const auto id = line.quoted();
    const auto key = id ? node_key(*id) : std::nullopt;
    if (!ports || *ports == 0 || !key)
      return bad("expected a port count and a node id, as in 36 \"S-0002c9...\"");
    about_.port_count = *ports;
    if (line.take("#"))
      if (const auto description = line.quoted(true)) about_.description = outside_text(*description);
    if (is_switch) about_.lids = lid_range(line.after(" lid "), line.after(" lmc "));
    current_ = subnet_.nodes.size();
    if (!index_.emplace(key->guid, current_).second)
      return bad("node 0x{:x} stands twice", key->guid.value());
    subnet_.nodes.push_back(IbSubnetNode{is_switch, key->guid, std::exchange(about_, IbNode{}), {}});
    return {};
  }

  /// `[1](2c903000e0b73) "S-0008f10500200040"[7](guid)	# lid 1 lmc 0 "name" lid 6 4xNDR`
  Result<void> take_port(DumpLine& line) {
    if (subnet_.nodes.empty()) return bad("a port before the first node");
    IbSubnetNode& node = subnet_.nodes[current_];
    PortLine read;
    const auto number = line.number<std::uint8_t>();
    if (!number || !line.take("]") || *number == 0 || *number > node.about.port_count)
      return bad("expected a port number from 1 to {} in brackets", node.about.port_count);
    read.number = *number;
    read.port.guid = take_guid(line).value_or(node.guid);
    const auto id = line.quoted();
    const auto key = id ? node_key(*id) : std::nullopt;
    std::optional<std::uint8_t> far;
    if (key && line.take("[")) far = line.number<std::uint8_t>();
    if (!far || *far == 0 || !line.take("]")) return bad("expected the other end, as in \"S-0002c9...\"[7]");
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
        subnet_.nodes.push_back({line.far.is_switch, far.node, {.description = line.far_name}, {}});
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
  std::unordered_map<Guid, std::size_t> index_;
  std::vector<std::pair<Guid, PortLine>> lines_;
};

}  // namespace

Result<IbSubnet> parse_ibnetdiscover(std::string_view text) { return Reader().read(text); }

}  // namespace weft
