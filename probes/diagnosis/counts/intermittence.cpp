#include "probes/diagnosis/counts/intermittence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "topology/base/statistics.hpp"

namespace weft::diagnosis {
namespace {

constexpr std::size_t kMinLost = 10;            // packets, to speak of a rhythm
constexpr std::size_t kMaxPackets = 2'000'000;  // that are looked at
constexpr double kTurn = 8.0;                   // nats against a change of state
constexpr double kQuiet = 1e-3;                 // loss while there is no outage, background included
constexpr double kBetter = 20.0;                // nats by which two states must explain more than one
constexpr int kSweeps = 3;
constexpr std::uint32_t kMinInOutage = 2;
constexpr std::ptrdiff_t kNear = 5;  // packets next to others in time: so many are not lost by chance
constexpr double kLonger =
    1.5;  // times the longest outage that was seen: what one that was not seen whole has

struct Packet {
  double at = 0;  // seconds
  bool lost = false;
};

bool crosses_any(const PathTable& paths, PathSetId set, const std::vector<ChannelId>& channels) {
  for (const PathId path : paths.paths(set))
    for (const ChannelId channel : paths.channels(path))
      if (std::ranges::binary_search(channels, channel)) return true;
  return false;
}

bool crosses(const PathTable& paths, PathSetId set, ChannelId channel) {
  const auto members = paths.paths(set);
  return std::ranges::all_of(members, [&](PathId path) {
    return std::ranges::find(paths.channels(path), channel) != paths.channels(path).end();
  });
}

/// One way, and which of its packets were lost.
bool has_times(const Observation& row) {
  return row.window && row.sent > 0 && !row.back &&
         (row.lost == 0 || row.lost == row.sent || !row.runs.empty());
}

void add(const Observation& row, std::vector<Packet>& packets) {
  const double start = std::chrono::duration<double>(row.window->start).count();
  const double step =
      std::chrono::duration<double>(row.window->length).count() / static_cast<double>(row.sent);
  const std::size_t first = packets.size();
  for (std::uint64_t i = 0; i < row.sent; ++i)
    packets.push_back({start + step * (static_cast<double>(i) + 0.5), row.lost == row.sent});
  for (const LossRun& run : row.runs)
    for (std::uint64_t i = run.first; i < std::uint64_t{run.first} + run.count && i < row.sent; ++i)
      packets[first + i].lost = true;
}

double log_of(bool lost, double loss) { return std::log(lost ? loss : 1 - loss); }

/// The time in which the rows were sent, in seconds: not the pauses between them, nor a clock's jump.
double covered_by(std::vector<TimeWindow> windows) {
  std::ranges::sort(windows, {}, &TimeWindow::start);
  double covered = 0;
  auto until = windows.front().start;
  for (const TimeWindow& window : windows) {
    const auto end = window.start + window.length;
    if (end <= until) continue;
    covered += std::chrono::duration<double>(end - std::max(until, window.start)).count();
    until = end;
  }
  return covered;
}

/// The likeliest states, true in an outage, and their log-likelihood without the prices of turns.
std::vector<bool> states_of(const std::vector<Packet>& packets, double loss) {
  double calm = 0, out = -kTurn;
  std::vector<std::uint8_t> from(packets.size());  // bit 0: calm came from out; bit 1: out came from calm
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const bool to_calm = out - kTurn > calm;
    const bool to_out = calm - kTurn > out;
    from[i] = static_cast<std::uint8_t>((to_calm ? 1 : 0) | (to_out ? 2 : 0));
    const double was_calm = calm;
    calm = (to_calm ? out - kTurn : calm) + log_of(packets[i].lost, kQuiet);
    out = (to_out ? was_calm - kTurn : out) + log_of(packets[i].lost, loss);
  }
  std::vector<bool> states(packets.size());
  bool state = out > calm;
  for (std::size_t i = packets.size(); i-- > 0;) {
    states[i] = state;
    state = state ? (from[i] & 2) == 0 : (from[i] & 1) != 0;
  }
  return states;
}

/// Seconds from the packet before to the one behind the longest outage that small packets show from begin to
/// end, with no large one between; infinite: they show none so.
double longest_outage(const std::vector<Packet>& small, const std::vector<Packet>& large) {
  double longest = -1;
  for (std::size_t passed = small.size(), i = 0; i < small.size(); ++i) {
    if (small[i].lost) continue;
    const bool is_outage = passed + 1 < i;
    const auto between = std::ranges::upper_bound(large, is_outage ? small[passed].at : 0, {}, &Packet::at);
    const bool is_whole = is_outage && (between == large.end() || between->at > small[i].at);
    if (is_whole && i - passed > kNear) longest = std::max(longest, small[i].at - small[passed].at);
    passed = i;
  }
  return longest < 0 ? std::numeric_limits<double>::infinity() : longest;
}

}  // namespace

std::optional<Intermittence> intermittence_of(const Observations& observations, ChannelId channel,
                                              const std::vector<ChannelId>& others) {
  const PathTable& table = observations.paths;
  std::vector<Packet> packets;
  std::vector<TimeWindow> windows;
  for (const Observation& row : observations.probes) {
    if (!has_times(row) || !crosses(table, row.path, channel) || crosses_any(table, row.path, others))
      continue;
    if (packets.size() + row.sent > kMaxPackets) break;
    add(row, packets);
    windows.push_back(*row.window);
  }
  std::ranges::stable_sort(packets, {}, &Packet::at);
  const auto lost = static_cast<double>(std::ranges::count(packets, true, &Packet::lost));
  if (lost < kMinLost || lost == static_cast<double>(packets.size())) return std::nullopt;
  double loss = 0.9;
  std::vector<bool> states;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    states = states_of(packets, loss);
    double inside = 0, gone = 0;
    for (std::size_t i = 0; i < packets.size(); ++i)
      if (states[i]) inside += 1, gone += packets[i].lost;
    if (inside < 1 || inside == static_cast<double>(packets.size())) return std::nullopt;
    loss = std::clamp(gone / inside, 2 * kQuiet, 0.999);
  }
  const double even = lost / static_cast<double>(packets.size());
  double better = 0;
  std::vector<double> durations;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    better += log_of(packets[i].lost, states[i] ? loss : kQuiet) - log_of(packets[i].lost, even);
    if (!states[i] || (i > 0 && states[i - 1])) continue;
    std::size_t end = i;
    while (end < packets.size() && states[end]) ++end;
    if (end - i < kMinInOutage) continue;
    const double begin = i > 0 ? 0.5 * (packets[i - 1].at + packets[i].at) : packets[i].at;
    const double over =
        end < packets.size() ? 0.5 * (packets[end - 1].at + packets[end].at) : packets[end - 1].at;
    durations.push_back(over - begin);
  }
  if (durations.empty() || better < kBetter + 2 * kTurn * static_cast<double>(durations.size()))
    return std::nullopt;
  return Intermittence{
      .per_second = static_cast<double>(durations.size()) / std::max(covered_by(windows), 1e-9),
      .duration = median(durations)};
}

bool met_outages(const Observations& observations, const std::vector<ChannelId>& alike, Bytes from,
                 const std::vector<ChannelId>& others) {
  if (alike.empty()) return false;
  const PathTable& table = observations.paths;
  std::vector<Packet> small, large;
  for (const Observation& row : observations.probes) {
    if (!has_times(row) || !crosses(table, row.path, alike.front()) || crosses_any(table, row.path, others))
      continue;
    if (small.size() + large.size() + row.sent > kMaxPackets) return false;
    add(row, row.size < from ? small : large);
  }
  for (auto* const packets : {&small, &large}) std::ranges::stable_sort(*packets, {}, &Packet::at);
  const double longest = longest_outage(small, large);
  const auto are_lost = [](auto first, auto last) {
    return last - first >= kNear && std::all_of(first, last, [](const Packet& it) { return it.lost; });
  };
  for (auto it = large.begin(); it != large.end();) {
    const auto next = std::ranges::lower_bound(small, it->at, {}, &Packet::at);
    const auto before = next - std::min(kNear, next - small.begin());
    const auto behind = next + std::min(kNear, small.end() - next);
    if (!are_lost(before, next) && !are_lost(next, behind)) return false;
    const auto end = next == small.end()
                         ? large.end()
                         : std::ranges::lower_bound(it, large.end(), next->at, {}, &Packet::at);
    if (std::prev(end)->at - it->at > kLonger * longest) return false;
    if (next == small.end()) break;
    it = std::ranges::lower_bound(it, large.end(), next->at, {}, &Packet::at);
  }
  return !large.empty();
}

}  // namespace weft::diagnosis
