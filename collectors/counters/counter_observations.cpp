#include "collectors/counters/counter_observations.hpp"

#include <algorithm>
#include <span>

#include "topology/findings/codewords.hpp"

namespace weft::counters {
namespace {

using enum PortCounter;

/// Sums of a device have other parts beside (too long, no buffer).
constexpr CounterGain kSumGain{.frames_per_error = 1, .spread = 0.7};

constexpr std::size_t kMaxWindows = 64;  // rows of one counter

class PortCounts {
 public:
  PortCounts(const Fabric& fabric, const CounterTable& table, std::span<const SeriesHistory> of_port,
             std::vector<ChannelCount>& into)
      : fabric_(fabric), table_(table), of_port_(of_port), into_(into) {}

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

  /// Its exporter first: the diagnosis takes what one exporter tells together (diagnosis::exporter_of).
  std::string source_text(const SeriesHistory& counted, PortCounter errors) const {
    const auto& source = table_.source_name(counted.source);
    const auto& exporter = table_.exporter_name(counted.exporter);
    const auto what = fmt::format("{} of {}", to_string(errors), fabric_.name_of(counted.port));
    if (exporter.empty() || exporter == source) return fmt::format("{}: {}", source, what);
    return fmt::format("{}: {} ({})", exporter, what, source);
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
    const bool is_clean = growth(*counted, windows.front().from, windows.back().to)->grew == 0;
    if (is_clean && kind == CounterKind::discards) return;
    const std::size_t step = is_clean ? windows.size() : (windows.size() + kMaxWindows - 1) / kMaxWindows;
    ChannelCount row{.channel = channel,
                     .kind = kind,
                     .gain = gain,
                     .age = windows.back().to,  // held against the newest of its source below
                     .period = windows.back().to - windows.back().from,
                     .source = source_text(*counted, errors)};
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
  std::vector<ChannelCount>& into_;
};

}  // namespace

std::vector<ChannelCount> channel_counts(const Fabric& fabric, CounterTable& table) {
  std::vector<Nanoseconds> newest(table.source_count());
  std::vector<std::uint32_t> sources;  // of each count
  std::vector<ChannelCount> counts;
  each_history(fabric, table, [&](std::span<const SeriesHistory> of_port) {
    const auto source = of_port.front().source;
    for (const SeriesHistory& one : of_port)
      if (!one.windows.empty()) newest[source] = std::max(newest[source], one.windows.back().to);
    PortCounts(fabric, table, of_port, counts).run();
    sources.resize(counts.size(), source);
  });
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i].age = newest[sources[i]] - counts[i].age;
  return counts;
}

}  // namespace weft::counters
