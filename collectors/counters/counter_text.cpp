#include "collectors/counters/counter_text.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "topology/base/outside_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxRemarks = 20;

/// The number behind `key`, decimal or 0x...; absent: there is none, or it is too large.
std::optional<std::uint64_t> number_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = line.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" ."), rest.size()));
  const int base = rest.starts_with("0x") ? 16 : 10;
  if (base == 16) rest.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> counter_named(std::string_view name) {
  for (std::size_t i = 0; i < mad::kIbCounters; ++i)
    if (to_string(static_cast<mad::IbCounter>(i)) == name) return i;
  return std::nullopt;
}

class CounterTextReader {
 public:
  Result<CounterText> read(std::string_view text) && {
    while (!text.empty()) {
      ++line_number_;
      const auto end = text.find('\n');
      read_line(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    if (result_.entries.empty())
      return fail(ErrorKind::invalid_input,
                  "no counters: expected the output of perfquery or ibqueryerrors{}",
                  result_.remarks.empty() ? "" : "; " + result_.remarks.front());
    return std::move(result_);
  }

 private:
  void read_line(std::string_view line) {
    if (line.find("ounters: Lid ") != std::string_view::npos) return begin_perfquery(line);
    if (const auto at = line.find_first_not_of(" \t"); at != std::string_view::npos)
      if (line.substr(at).starts_with("GUID 0x")) return read_queryerrors(line);
    const auto dots = line.find(":.");
    if (in_perfquery_ && dots != std::string_view::npos) set(line.substr(0, dots), line.substr(dots));
  }

  /// `# Port counters: Lid 6 port 1 (CapMask: 0x5300)`
  void begin_perfquery(std::string_view line) {
    const auto lid = number_after(line, "Lid ");
    const auto port = number_after(line, " port ");
    in_perfquery_ = lid && *lid > 0 && *lid < 0xC000 && port && *port > 0 && *port < 255;
    if (lid && port == 0u) return;  // a switch's own port has no cable
    if (!in_perfquery_) return pass_over(line, "expected the LID and the number of one port");
    result_.entries.push_back(
        {.lid = Lid(static_cast<std::uint16_t>(*lid)), .port = static_cast<std::uint32_t>(*port)});
  }

  /// `   GUID 0x2c90200423e68 port 1: [SymbolErrorCounter == 5] [PortXmitWait == 300 (300.000)]`
  void read_queryerrors(std::string_view line) {
    in_perfquery_ = false;
    const auto guid = number_after(line, "GUID ");
    const auto port = number_after(line, " port ");
    if (line.find(" port ALL:") != std::string_view::npos) return;  // the sum of those that follow
    if (!guid || *guid == 0 || !port || *port == 0 || *port > 254)
      return pass_over(line, "expected the GUID and the number of one port");
    result_.entries.push_back({.guid = Guid(*guid), .port = static_cast<std::uint32_t>(*port)});
    for (auto at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
      const auto inside = line.substr(at + 1, line.find(']', at) - at - 1);
      const auto equals = inside.find(" == ");
      if (equals != std::string_view::npos) set(inside.substr(0, equals), inside.substr(equals));
    }
  }

  void set(std::string_view name, std::string_view rest) {
    const auto counter = counter_named(name);
    if (!counter) return;
    const auto value = number_after(rest, rest.starts_with(" ==") ? "==" : ":");
    if (!value) return pass_over(name, "expected a number");
    CounterEntry& entry = result_.entries.back();
    entry.values[*counter] = *value;
    entry.has_traffic |= static_cast<mad::IbCounter>(*counter) == mad::IbCounter::xmit_data;
  }

  void pass_over(std::string_view what, std::string_view why) {
    if (result_.remarks.size() < kMaxRemarks)
      result_.remarks.push_back(
          fmt::format("line {}: {}: '{}'", line_number_, why, outside_text(what.substr(0, 60))));
  }

  CounterText result_;
  bool in_perfquery_ = false;
  std::size_t line_number_ = 0;
};

class Places {
 public:
  explicit Places(const Fabric& fabric) : fabric_(fabric) {
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
      if (const auto& guid = fabric.node(NodeId(n)).guid) nodes_.emplace(*guid, NodeId(n));
    for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
      if (const auto& guid = fabric.port(PortId(p)).guid) ports_.emplace(*guid, PortId(p));
  }

  bool empty() const { return nodes_.empty() && ports_.empty(); }

  std::optional<PortId> of(Guid guid, std::uint32_t number) const {
    if (const auto port = ports_.find(guid); port != ports_.end()) return port->second;
    const auto node = nodes_.find(guid);
    if (node == nodes_.end()) return std::nullopt;
    for (const PortId port : fabric_.ports_of(node->second))
      if (fabric_.port(port).number.value() == number) return port;
    return std::nullopt;
  }

 private:
  const Fabric& fabric_;
  std::unordered_map<Guid, NodeId> nodes_;
  std::unordered_map<Guid, PortId> ports_;
};

}  // namespace

Result<CounterText> parse_counter_text(std::string_view text) { return CounterTextReader().read(text); }

Result<CounterReading> place_counters(const Fabric& fabric, CounterText& text, const GuidOfLid& lids) {
  const Places places(fabric);
  if (places.empty())
    return fail(ErrorKind::invalid_input,
                "no node of the fabric file has a GUID, so no counter finds its port: weft topology discover "
                "-o yaml writes them");
  CounterReading reading;
  reading.ports.resize(fabric.port_count());
  std::vector<bool> has_traffic(fabric.port_count(), false);
  std::size_t placed = 0;
  std::size_t lost = 0;
  for (const CounterEntry& entry : text.entries) {
    auto guid = entry.guid;
    if (const auto held = entry.lid ? lids.find(*entry.lid) : lids.end(); held != lids.end())
      guid = held->second;
    const auto port = guid ? places.of(*guid, entry.port) : std::nullopt;
    if (!port) {
      if (lost++ < kMaxRemarks)
        text.remarks.push_back(
            guid ? fmt::format("0x{:x} port {} is not in the fabric file", guid->value(), entry.port)
                 : fmt::format("nothing tells who has LID {}: --dump with what ibnetdiscover printed does",
                               entry.lid->value()));
      continue;
    }
    ++placed;
    auto& at_port = reading.ports[port->value()];
    if (!at_port) at_port.emplace();
    std::ranges::transform(at_port->values, entry.values, at_port->values.begin(),
                           [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    has_traffic[port->value()] = has_traffic[port->value()] || entry.has_traffic;
  }
  for (std::size_t p = 0; p < reading.ports.size(); ++p)
    if (reading.ports[p] && !has_traffic[p])
      reading.ports[p]->values[static_cast<std::size_t>(mad::IbCounter::xmit_wait)] = 0;
  if (placed == 0)
    return fail(ErrorKind::invalid_input, "none of {} readings is of a port of the fabric file: {}",
                text.entries.size(), text.remarks.back());
  return reading;
}

}  // namespace weft::counters
