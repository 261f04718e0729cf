// Rates of failures: what was seen of each class of parts, over which exposure, and what a failure does. As
// JSON, `weft.rates/1` (docs/schema/rates.schema.json). A rate is never written bare: it is events within an
// exposure, so that what was seen little is known little.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/files/document.hpp"
#include "topology/model/failure_domain.hpp"

namespace weft::files {

enum class PartClass : std::uint8_t { gpu, host, nic, host_cable, switch_cable, leaf, spine, core, software };
inline constexpr std::array kPartClasses{PartClass::gpu,        PartClass::host,         PartClass::nic,
                                         PartClass::host_cable, PartClass::switch_cable, PartClass::leaf,
                                         PartClass::spine,      PartClass::core,         PartClass::software};
std::string_view to_string(PartClass part);  // gpu, host, ..., host_cable
std::optional<PartClass> parse_part_class(std::string_view text);
/// As a sentence has it: "GPUs", "host cables", "leaf switches".
std::string_view plural(PartClass part);

enum class RepairLaw : std::uint8_t { fixed, exponential, log_normal };
std::string_view to_string(RepairLaw law);

/// One part of a mixture; `share` of all repairs have it.
struct RepairTime {
  RepairLaw law = RepairLaw::exponential;
  Hours mean{};
  double sigma = 0;  // of the logarithm; log-normal alone
  double share = 1;
};

/// Weibull: shape below 1, early failures; above 1, wear. A part that was repaired is new.
struct Ageing {
  double shape = 1;
  Hours age{};  // of the parts at the beginning of what is planned
  /// Their age when the exposure began. Absent: the mean life is that of the counted rate.
  std::optional<Hours> counted_from = std::nullopt;
};

/// Two kinds of parts in a class: this share fails `ratio` times as often as the others.
struct Offenders {
  double share = 0;
  double ratio = 1;
};

/// A part of which more is known than of its class: its rate over the mean of the class.
struct KnownPart {
  std::string name;
  std::uint64_t events = 0;
  double ratio = 1;
  double offender = 0;  // probability
};

struct ClassRates {
  PartClass part = PartClass::gpu;
  double events = 0;
  std::uint64_t parts = 0;  // that were watched,
  Hours time{};             // each for so long
  /// Shares of the failures: stop the job, slow it, are found by a sweep alone. They add up to 1.
  double stops = 1, slows = 0, silent = 0;
  double slow_to = 0.5;  // the rate that a slow part still has, of its own
  std::vector<RepairTime> repair;
  std::optional<Ageing> ageing = std::nullopt;
  std::optional<Offenders> offenders = std::nullopt;
  std::vector<KnownPart> known = {};
  std::string source;
  std::vector<std::string> guesses = {};  // what of it nobody measured: "repair", "stops", "parts"

  Hours exposure() const { return time * static_cast<double>(parts); }
};

struct Rates {
  std::string origin;               // "published", or the site that they were seen at
  bool is_own = false;              // of the site that is planned for
  std::vector<ClassRates> classes;  // each class once at most

  const ClassRates* find(PartClass part) const;
};

/// Events that a rate is made of. Of none it is half a one, Jeffreys' prior: what was not seen yet may come.
double events_counted(double events);
/// In failures an hour and part.
double rate_of(const ClassRates& rates);

/// Mean of a mixture.
Hours mean_repair(const std::vector<RepairTime>& repair);

/// An Error (invalid_input) names `what`, the class and the member: shares that do not add up, a rate without
/// exposure or unit, what is negative, infinite or beyond 100 years.
Result<Rates> parse_rates(std::string_view text, std::string_view what);
std::string rates_text(const Rates& rates, const DocumentStamp& stamp);

inline constexpr Bytes kMaxRatesFile = Bytes(64'000'000);  // 200,000 known parts, with long names

/// What has been published, with sources; what nobody published is called a guess.
Rates published_rates();

}  // namespace weft::files
