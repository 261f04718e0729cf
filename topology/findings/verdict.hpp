// Verdict and Cause: the words in which weft speaks of a link, a host or a run, and their order of severity.
#pragma once

#include <optional>
#include <string_view>

namespace weft {

/// In rising order of what a run reports first; `unknown` ranks between healthy and congested.
enum class Verdict { healthy, unknown, congested, degraded, failed };

enum class Cause { loss, rate, congestion, delay, down, mtu, corruption, counter };

/// Loss of this share and more is `failed`, below it `degraded` (the contract of the commands).
inline constexpr double kFailedLoss = 0.05;

/// The verdict a cause leads to; `loss` is the estimated share of packets lost or corrupt where that is the
/// cause.
Verdict verdict_of(Cause cause, double loss = 0.0);

std::string_view to_string(Verdict verdict);
std::string_view to_string(Cause cause);
std::optional<Verdict> parse_verdict(std::string_view text);
std::optional<Cause> parse_cause(std::string_view text);

}  // namespace weft
