#include "topology/model/fault.hpp"

namespace weft {
namespace {

constexpr std::string_view kSettings = "loss, rate, load, delay, mtu, corruption, down, from";

template <class T>
Result<void> put_once(std::optional<T>& place, std::string_view setting, const Result<T>& value) {
  if (place) return fail(ErrorKind::usage, "fault setting '{}' stands twice", setting);
  if (!value) return pass_on(value, setting);
  place = *value;
  return {};
}

Result<Bytes> parse_mtu(std::string_view text) {
  const auto size = parse_bytes(text);
  if (size && *size < kSmallestMtu)
    return fail(ErrorKind::usage, "'{}' is below the smallest MTU of IP, {} bytes", text,
                kSmallestMtu.count());
  return size;
}

Result<void> set_down(FaultSpec& fault, std::string_view value) {
  if (!value.empty()) return fail(ErrorKind::usage, "fault setting 'down' takes no value, not '{}'", value);
  if (fault.down) return fail(ErrorKind::usage, "fault setting 'down' stands twice");
  fault.down = true;
  return {};
}

/// The part of `text` before the next `separator`; `text` is left with what follows it.
std::string_view take_until(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const auto taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

Result<void> apply(const Fabric& fabric, FaultSpec& fault, std::string_view item) {
  const auto setting = take_until(item, '=');
  return setting == "from" ? set_fault_from(fabric, fault, item) : set_fault(fault, setting, item);
}

/// A node name may hold colons: the first one before which a link's name stands, else the first of all.
std::size_t colon_after_link(const Fabric& fabric, std::string_view text) {
  const auto first = text.find(':');
  for (auto at = first; at != std::string_view::npos; at = text.find(':', at + 1))
    if (fabric.find_link(text.substr(0, at))) return at;
  return first;
}

}  // namespace

Result<void> set_fault(FaultSpec& fault, std::string_view setting, std::string_view value) {
  if (setting == "loss") return put_once(fault.loss, setting, parse_percent(value));
  if (setting == "rate") return put_once(fault.rate, setting, parse_bandwidth(value));
  if (setting == "load") return put_once(fault.load, setting, parse_bandwidth(value));
  if (setting == "delay") return put_once(fault.delay, setting, parse_duration(value));
  if (setting == "mtu") return put_once(fault.mtu, setting, parse_mtu(value));
  if (setting == "corruption") return put_once(fault.corruption, setting, parse_percent(value));
  if (setting == "down") return set_down(fault, value);
  return fail(ErrorKind::usage, "'{}' is no fault setting: expected one of {}", setting, kSettings);
}

Result<void> set_fault_from(const Fabric& fabric, FaultSpec& fault, std::string_view name) {
  if (fault.channel) return fail(ErrorKind::usage, "fault setting 'from' stands twice");
  const auto node = fabric.find_node(name);
  if (!node) return pass_on(node, "from");
  for (const ChannelId channel : {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)})
    if (fabric.source_node(channel) == *node) fault.channel = channel;
  if (!fault.channel)
    return fail(ErrorKind::usage, "'{}' is no end of {}: from takes one of its two nodes", name,
                fabric.name_of(fault.link));
  return {};
}

Result<void> check_fault(const Fabric& fabric, const FaultSpec& fault) {
  if (fault.loss || fault.rate || fault.load || fault.delay || fault.mtu || fault.corruption || fault.down)
    return {};
  return fail(ErrorKind::usage, "the fault on {} says nothing: expected one of {}",
              fabric.name_of(fault.link), "loss, rate, load, delay, mtu, corruption, down");
}

Result<FaultSpec> parse_fault(const Fabric& fabric, std::string_view text) {
  const auto colon = colon_after_link(fabric, text);
  if (colon == std::string_view::npos)
    return fail(ErrorKind::usage, "'{}' is no fault: expected LINK:SETTING=VALUE,..., as in {}", text,
                "leaf1--spine2:loss=0.5%,from=leaf1");
  const auto link = fabric.find_link(text.substr(0, colon));
  if (!link) return pass_on(link, fmt::format("fault '{}'", text));
  FaultSpec fault{.link = *link};
  for (auto rest = text.substr(colon + 1); !rest.empty();)
    if (const auto done = apply(fabric, fault, take_until(rest, ',')); !done)
      return pass_on(done, fmt::format("fault '{}'", text));
  if (const auto checked = check_fault(fabric, fault); !checked) return pass_on(checked);
  return fault;
}

std::string to_string(const Fabric& fabric, const FaultSpec& fault) {
  std::string settings;
  const auto add = [&settings](std::string_view setting, const auto& value) {
    if (value) settings += fmt::format(",{}={}", setting, to_string(*value));
  };
  add("loss", fault.loss);
  add("rate", fault.rate);
  add("load", fault.load);
  add("delay", fault.delay);
  add("mtu", fault.mtu);
  add("corruption", fault.corruption);
  if (fault.down) settings += ",down";
  if (fault.channel) settings += fmt::format(",from={}", fabric.name_of(fabric.source_node(*fault.channel)));
  return fmt::format("{}:{}", fabric.name_of(fault.link), settings.empty() ? "" : settings.substr(1));
}

}  // namespace weft
