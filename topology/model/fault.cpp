#include "topology/model/fault.hpp"

#include <charconv>

#include "topology/model/fabric.hpp"

namespace weft {
namespace {

constexpr std::string_view kSettings = "loss, rate, load, delay, mtu, corruption, down, on, off, burst, from";

constexpr Nanoseconds kMaxPart = std::chrono::hours(24);

template <class T>
Result<void> put_once(std::optional<T>& place, std::string_view setting, const Result<T>& value) {
  if (place) return fail(ErrorKind::usage, "fault setting '{}' stands twice", setting);
  if (!value) return pass_on(value, setting);
  place = *value;
  return {};
}

Result<Bytes> parse_mtu(std::string_view text) {
  const auto size = parse_bytes(text);
  if (size && *size < kMinMtu)
    return fail(ErrorKind::usage, "'{}' is below the smallest MTU of IP, {} bytes", text, kMinMtu.count());
  return size;
}

/// A part of a period that is over at once, or never begins, makes no fault that comes and goes.
Result<Nanoseconds> parse_part(std::string_view text) {
  const auto time = parse_duration(text);
  if (time && (*time <= Nanoseconds(0) || *time > kMaxPart))
    return fail(ErrorKind::usage, "'{}': expected a time above zero and at most {}, as in 500ms", text,
                to_string(kMaxPart));
  return time;
}

Result<std::uint32_t> parse_burst(std::string_view text) {
  std::uint32_t packets = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), packets);
  if (error == std::errc{} && end == text.data() + text.size() && packets >= 1 && packets <= kMaxBurst)
    return packets;
  return fail(ErrorKind::usage, "'{}' is no burst: expected a number of packets, 1 to {}", text, kMaxBurst);
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

constexpr Nanoseconds kLatest = std::chrono::hours(24 * 7);  // nothing simulated is as long

}  // namespace

Result<void> set_fault(FaultSpec& fault, std::string_view setting, std::string_view value) {
  if (setting == "loss") return put_once(fault.loss, setting, parse_percent(value));
  if (setting == "rate") return put_once(fault.rate, setting, parse_bandwidth(value));
  if (setting == "load") return put_once(fault.load, setting, parse_bandwidth(value));
  if (setting == "delay") return put_once(fault.delay, setting, parse_duration(value));
  if (setting == "mtu") return put_once(fault.mtu, setting, parse_mtu(value));
  if (setting == "corruption") return put_once(fault.corruption, setting, parse_percent(value));
  if (setting == "on") return put_once(fault.on, setting, parse_part(value));
  if (setting == "off") return put_once(fault.off, setting, parse_part(value));
  if (setting == "burst") return put_once(fault.burst, setting, parse_burst(value));
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
  const std::string link = fabric.name_of(fault.link);
  if (!fault.loss && !fault.rate && !fault.load && !fault.delay && !fault.mtu && !fault.corruption &&
      !fault.down)
    return fail(ErrorKind::usage, "the fault on {} says nothing: expected one of {}", link,
                "loss, rate, load, delay, mtu, corruption, down");
  if (fault.on.has_value() != fault.off.has_value())
    return fail(ErrorKind::usage,
                "the fault on {} has '{}' alone: how long it is there and how long it is gone "
                "are given together, as in on=500ms,off=2s",
                link, fault.on ? "on" : "off");
  if (fault.burst && !fault.loss)
    return fail(ErrorKind::usage, "the fault on {} has 'burst' and no 'loss': which share is lost in runs?",
                link);
  return {};
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
  WEFT_TRY_VOID(check_fault(fabric, fault));
  return fault;
}

std::vector<ChannelId> channels_of(const FaultSpec& fault) {
  if (fault.channel) return {*fault.channel};
  return {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)};
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
  add("on", fault.on);
  add("off", fault.off);
  if (fault.burst) settings += fmt::format(",burst={}", *fault.burst);
  if (fault.channel) settings += fmt::format(",from={}", fabric.name_of(fabric.source_node(*fault.channel)));
  return fmt::format("{}:{}", fabric.name_of(fault.link), settings.empty() ? "" : settings.substr(1));
}

Result<HostStall> parse_stall(const Fabric& fabric, std::string_view text) {
  const auto colon = text.rfind(':');
  const auto comma = text.find(',', colon == std::string_view::npos ? text.size() : colon);
  const auto settings = [&](std::string_view one, std::string_view other) {
    return colon != std::string_view::npos && comma != std::string_view::npos &&
           text.substr(colon + 1, one.size()) == one && text.substr(comma + 1, other.size()) == other;
  };
  constexpr std::string_view kAt = "at=";
  constexpr std::string_view kFor = "for=";
  if (!settings(kAt, kFor))
    return fail(ErrorKind::usage, "'{}' is no stall: expected HOST:at=TIME,for=TIME, as in {}", text,
                "host3:at=2s,for=300ms");
  const auto host = fabric.find_node(text.substr(0, colon));
  if (!host) return pass_on(host, fmt::format("stall '{}'", text));
  if (!fabric.is_host(*host)) return fail(ErrorKind::usage, "stall '{}': only hosts stall", text);
  const auto start = parse_duration(text.substr(colon + 1 + kAt.size(), comma - colon - 1 - kAt.size()));
  if (!start) return pass_on(start, fmt::format("stall '{}'", text));
  const auto length = parse_duration(text.substr(comma + 1 + kFor.size()));
  if (!length) return pass_on(length, fmt::format("stall '{}'", text));
  if (*start > kLatest || *length > kLatest)
    return fail(ErrorKind::usage, "stall '{}': expected times of at most {}", text, to_string(kLatest));
  return HostStall{*host, *start, *length};
}

}  // namespace weft
