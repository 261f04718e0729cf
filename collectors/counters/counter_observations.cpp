#include "collectors/counters/counter_observations.hpp"

#include <algorithm>
#include <span>

namespace weft::counters {
namespace {

using enum PortCounter;

/// A frame of 4,096 bytes and its headers lies in seven or eight codewords of 5,120 bits; 100 to 800 Gb/s
/// interleave two or four (802.3 clauses 119, 172), and short frames lie in one.
constexpr CounterGain kCodewordGain{.frames_per_error = 8, .spread = 0.7};
/// Sums of a device have other parts beside (too long, no buffer).
constexpr CounterGain kSumGain{.frames_per_error = 1, .spread = 0.7};

constexpr std::size_t kMaxWindows = 64;  // rows of one counter

class PortCounts {
 public:
  PortCounts(const Fabric& fabric, const CounterTable& table, std::span<const SeriesHistory> of_port,
             Nanoseconds newest, std::vector<ChannelCount>& into)
      : fabric_(fabric), table_(table), of_port_(of_port), newest_(newest), into_(into) {}

  void run() {
    const PortId port = of_port_.front().port;
    const auto in = fabric_.channel_into(port), out = fabric_.channel_from(port);
    if (!in || !out) return;
    add(*in, CounterKind::codewords, fec_uncorrectable, fec_codewords, kCodewordGain);
    add(*in, CounterKind::frames, fcs_errors, frames_in, {});
    if (find(fcs_errors) == nullptr) add(*in, CounterKind::packets, errors_in, frames_in, kSumGain);
    add(*in, CounterKind::discards, discards_in, frames_in, {});
    add(*out, CounterKind::discards, discards_out, frames_out, {});
  }

 private:
  const SeriesHistory* find(PortCounter counter) const {
    const auto found = std::ranges::find(of_port_, CounterKey{.counter = counter}, &SeriesHistory::key);
    return found == of_port_.end() ? nullptr : &*found;
  }

  /// How many of what the errors are a share of came while these were watched.
  double exposure(const Growth& errors, PortCounter of) const {
    if (const auto* all = find(of))
      if (const auto grown = growth(*all, errors.from, errors.to); grown && grown->watched.count() > 0)
        return static_cast<double>(grown->grew) *
               (static_cast<double>(errors.watched.count()) / static_cast<double>(grown->watched.count()));
    if (of != fec_codewords) return 0;
    const auto link = fabric_.port(of_port_.front().port).link;
    const double seconds = std::chrono::duration<double>(errors.watched).count();
    return *most_a_second(fec_codewords, fabric_.link(*link).rate) * seconds;
  }

  /// A row a window, so that what lies in one of them is seen to; of many, neighbours are one.
  void add(ChannelId channel, CounterKind kind, PortCounter errors, PortCounter of, CounterGain gain) {
    const auto* counted = find(errors);
    if (counted == nullptr || counted->windows.empty()) return;
    const auto& windows = counted->windows;
    const std::size_t step = (windows.size() + kMaxWindows - 1) / kMaxWindows;
    ChannelCount row{.channel = channel,
                     .kind = kind,
                     .gain = gain,
                     .age = newest_ - windows.back().to,
                     .period = windows.back().to - windows.back().from,
                     .source = fmt::format("{}: {} of {}", table_.source_name(counted->source),
                                           to_string(errors), fabric_.name_of(counted->port))};
    for (std::size_t first = 0; first < windows.size(); first += step) {
      const std::size_t last = std::min(first + step, windows.size()) - 1;
      const auto grown = growth(*counted, windows[first].from, windows[last].to);
      const double all = exposure(*grown, of);
      // Errors of nobody knows how many are told, and weigh nothing.
      if (!(all > 0) && grown->grew == 0) continue;
      row.errors = grown->grew;
      // Frames that came are those without an error (RFC 2863, ifInUcastPkts); all codewords are counted.
      row.exposure = all > 0 && of != fec_codewords ? all + static_cast<double>(grown->grew) : all;
      row.begin = grown->from;
      row.end = grown->to;
      into_.push_back(row);
    }
  }

  const Fabric& fabric_;
  const CounterTable& table_;
  std::span<const SeriesHistory> of_port_;
  const Nanoseconds newest_;
  std::vector<ChannelCount>& into_;
};

}  // namespace

std::vector<ChannelCount> channel_counts(const Fabric& fabric, const CounterTable& table,
                                         const std::vector<SeriesHistory>& histories) {
  std::vector<Nanoseconds> newest(table.source_count());
  for (const SeriesHistory& one : histories)
    if (!one.windows.empty()) newest[one.source] = std::max(newest[one.source], one.windows.back().to);
  std::vector<ChannelCount> counts;
  const std::span<const SeriesHistory> all(histories);
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].port == all[begin].port && all[end].source == all[begin].source)
      ++end;
    PortCounts(fabric, table, all.subspan(begin, end - begin), newest[all[begin].source], counts).run();
    begin = end;
  }
  return counts;
}

}  // namespace weft::counters
