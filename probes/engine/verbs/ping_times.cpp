#include "probes/engine/verbs/ping_times.hpp"

#include <algorithm>

#include "probes/datapath/ping_book.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::verbs {
namespace {

constexpr Nanoseconds kMaxTurnaround{0xFFFFFFFF};  // 4.29 s: as much as an echo of raw packets can say

}  // namespace

void PingTimes::posted(std::uint32_t sequence, Nanoseconds t1) {
  Probe* probe = at(sequence);
  if (probe == nullptr || probe->t1) return;
  probe->t1 = t1;
  ++sent_;
}

void PingTimes::sent(std::uint32_t sequence, Nanoseconds t2) {
  if (Probe* probe = at(sequence)) probe->t2 = t2;
}

void PingTimes::not_sent(std::uint32_t sequence) {
  Probe* probe = at(sequence);
  if (probe == nullptr || !probe->t1 || probe->t5) return;
  probe->t1.reset();
  --sent_;
}

bool PingTimes::answered(std::uint32_t sequence, Nanoseconds t5, Nanoseconds t6) {
  Probe* probe = at(sequence);
  if (probe == nullptr || !probe->t1 || probe->t5) return false;
  probe->t5 = t5;
  probe->t6 = t6;
  // Seen in one poll with the answer, the send's completion came late: what is certain is that it was posted.
  if (one_clock_ && (!probe->t2 || *probe->t2 > t5)) probe->t2 = probe->t1;
  ++answered_;
  late_ += t6 - *probe->t1 >= datapath::kLateEcho ? 1 : 0;
  return true;
}

std::optional<TimeWindow> PingTimes::window() const {
  const auto was_sent = [](const Probe& probe) { return probe.t1.has_value(); };
  const auto first = std::ranges::find_if(probes_, was_sent);
  if (first == probes_.end()) return std::nullopt;
  const auto last = std::find_if(probes_.rbegin(), probes_.rend(), was_sent);
  return TimeWindow{*first->t1, *last->t1 - *first->t1};
}

std::vector<LossRun> PingTimes::unanswered() const {
  if (sent_ < probes_.size()) return {};
  return loss_runs(sent_, [this](std::uint32_t probe) { return !probes_[probe].t5; })
      .value_or(std::vector<LossRun>());
}

void PingTimes::turned_around(std::uint32_t sequence, Nanoseconds delay) {
  if (delay < Nanoseconds(0) || delay > kMaxTurnaround) return;
  if (Probe* probe = at(sequence)) probe->turnaround = delay;
}

template <class F>
std::optional<RttQuantiles> PingTimes::quantiles(F value) const {
  std::vector<Nanoseconds> all;
  for (const Probe& probe : probes_)
    if (probe.complete()) all.push_back(std::max(Nanoseconds(0), value(probe)));
  return datapath::quantiles_of(std::move(all));
}

std::optional<RttQuantiles> PingTimes::network() const {
  return quantiles([](const Probe& p) { return (*p.t5 - *p.t2) - *p.turnaround; });
}
std::optional<RttQuantiles> PingTimes::prober() const {
  return quantiles([](const Probe& p) { return (*p.t6 - *p.t1) - (*p.t5 - *p.t2); });
}
std::optional<RttQuantiles> PingTimes::whole() const {
  return quantiles([](const Probe& p) { return *p.t6 - *p.t1; });
}
std::optional<RttQuantiles> PingTimes::responder() const {
  return quantiles([](const Probe& p) { return *p.turnaround; });
}

}  // namespace weft::verbs
