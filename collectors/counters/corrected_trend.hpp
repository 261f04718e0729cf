// Whether the corrected errors of a port rise towards loss. They do so days before the first frame is lost;
// but they also follow the temperature through each day, step where a module is plugged anew, and stand at
// other levels for other modules. So what is judged is how steadily they rise, and not where they stand.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/counters/fec_tail.hpp"
#include "collectors/counters/port_history.hpp"

namespace weft::counters {

/// Of one window.
struct ErrorRate {
  Nanoseconds at{};       // its end
  double log10_rate = 0;  // of bits, before correction
  bool anew = false;      // since the one before, the link went down or another module came: another level
};

/// log10 of the bit error rate from which RS(544,514) loses frames (IEEE 802.3, 120.1 and its like: 2.4e-4).
inline constexpr double kLossAt = -3.62;

struct CorrectedTrend {
  double now = 0;       // log10 of the rate, without its daily cycle
  double usual = 0;     // the same, before it rose: since the link came up, or of the fortnight
  double a_day = 0;     // by how many decades it rises each day; a step is not in it
  Nanoseconds since{};  // begin of the time over which it rose
  Nanoseconds at{};     // of the last rate
  bool degrading = false;
  /// Days until frames are lost, and a range, as if the rate rose on; it held .64 of modelled failures.
  /// Absent: no forecast.
  struct Forecast {
    double days = 0, low = 0;
    std::optional<double> high = std::nullopt;  // absent: it may also end
  };
  std::optional<Forecast> loss = std::nullopt;
};

/// What the rates, ascending in time, say at the last of them. Absent: less than a day since the last event,
/// or too few rates.
std::optional<CorrectedTrend> corrected_trend(std::span<const ErrorRate> rates, double loss_at = kLossAt);

/// The rates of a port out of its histories by one source: corrected bits of all bits, where those are
/// counted (all lanes together), or what a share of corrected codewords means where errors are independent.
/// Without counted codewords, of those that the rate of the link makes. Windows without an error give none.
std::vector<ErrorRate> error_rates(std::span<const SeriesHistory> of_port, std::optional<Bandwidth> rate);

/// So few ports of a module part are no peers: those of the rate and tier are, of whatever module.
inline constexpr std::size_t kMinPeers = 5;

/// One port by one source.
struct PortTrend {
  PortId port;
  std::uint32_t source = 0;
  CorrectedTrend trend;
  double beside_peers =
      0;  // decades above the median of the ports of its rate, tier and module part (kMinPeers)
  std::optional<FecTail> tail = std::nullopt;  // of the last day's histogram; absent: not told, or too short
};

/// A port that loses what FEC cannot correct: that is no early warning any more.
struct PortLoss {
  PortId port;
  std::uint32_t source = 0;
  std::uint64_t lost = 0;  // codewords, in the last day of its readings
};

struct PortTrends {
  std::size_t told = 0;  // ports whose corrected errors were counted for a day, without an error too
  /// Those that degrade first, by days to loss; then the highest rates.
  std::vector<PortTrend> trends;
  std::vector<PortLoss> losses;  // the most first
};

/// Of all ports that tell of corrected errors for long enough. The table is sorted.
PortTrends port_trends(const Fabric& fabric, CounterTable& table);

/// log10 of a limit that a standard or a vendor sets to the bit error rate before correction: `ieee_rs544`
/// (kLossAt: IEEE 802.3, 138.1.1), or a rate as 1e-5. Error (usage) with what there is.
Result<double> error_limit(std::string_view text);

/// Those whose rate is above that limit, however it moves; the highest first.
std::vector<PortTrend> above_limit(const PortTrends& found, double limit);

/// For people: those that degrade or lose, or that none does, and of how many ports that is said; and those
/// above the limit, which is no warning by itself.
std::string trends_text(const Fabric& fabric, const CounterTable& table, const PortTrends& found,
                        std::size_t width, double limit = kLossAt);

}  // namespace weft::counters
