#include "topology/findings/verdict.hpp"

#include <array>

namespace weft {
namespace {

constexpr std::array kVerdicts{Verdict::healthy, Verdict::unknown, Verdict::congested, Verdict::degraded,
                               Verdict::failed};
constexpr std::array kCauses{Cause::loss, Cause::rate, Cause::congestion, Cause::delay,
                             Cause::down, Cause::mtu,  Cause::corruption, Cause::counter};

template <class List>
auto parse_one_of(const List& list, std::string_view text) -> std::optional<typename List::value_type> {
  for (const auto value : list)
    if (to_string(value) == text) return value;
  return std::nullopt;
}

}  // namespace

Verdict verdict_of(Cause cause, double loss) {
  switch (cause) {
    case Cause::down:
    case Cause::mtu:
      return Verdict::failed;
    case Cause::congestion:
      return Verdict::congested;
    case Cause::loss:
    case Cause::corruption:  // a NIC drops what is corrupt
      return loss >= kFailedLoss ? Verdict::failed : Verdict::degraded;
    case Cause::rate:
    case Cause::delay:
    case Cause::counter:
      return Verdict::degraded;
  }
  return Verdict::unknown;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::unknown:
      return "unknown";
    case Verdict::congested:
      return "congested";
    case Verdict::degraded:
      return "degraded";
    case Verdict::failed:
      return "failed";
  }
  return "";
}

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::loss:
      return "loss";
    case Cause::rate:
      return "rate";
    case Cause::congestion:
      return "congestion";
    case Cause::delay:
      return "delay";
    case Cause::down:
      return "down";
    case Cause::mtu:
      return "mtu";
    case Cause::corruption:
      return "corruption";
    case Cause::counter:
      return "counter";
  }
  return "";
}

std::optional<Verdict> parse_verdict(std::string_view text) { return parse_one_of(kVerdicts, text); }
std::optional<Cause> parse_cause(std::string_view text) { return parse_one_of(kCauses, text); }

}  // namespace weft
