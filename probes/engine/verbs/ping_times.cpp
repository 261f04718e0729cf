#include "probes/engine/verbs/ping_times.hpp"

#include <algorithm>

#include "probes/datapath/ping_book.hpp"

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
  return true;
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
