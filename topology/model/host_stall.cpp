#include "topology/model/host_stall.hpp"

namespace weft {
namespace {

constexpr Nanoseconds kLatest = std::chrono::hours(24 * 7);  // nothing simulated is as long

}  // namespace

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
