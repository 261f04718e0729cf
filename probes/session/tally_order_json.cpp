#include "probes/session/tally_order_json.hpp"

#include "topology/findings/loss_runs.hpp"

namespace weft::json_fields {
namespace {

Json runs_json(const std::vector<LossRun>& runs) {
  return rows(runs, [](const LossRun& run) { return Json::array({run.first, run.count}); });
}

std::vector<LossRun> runs_from(const Json& value, std::uint64_t sent) {
  if (!value.is_array() || value.size() > kMaxLossRuns) throw BadField("too many runs of lost packets");
  auto runs = list<LossRun>(value, [](const Json& run) {
    return LossRun{whole<std::uint32_t>(element(run, 0)), whole<std::uint32_t>(element(run, 1))};
  });
  if (!are_loss_runs(runs, sent)) throw BadField("runs of lost packets out of order, or beyond the row");
  return runs;
}

/// A time that can be counted with: no host is up for thirty years, nor sends for so long.
Nanoseconds clock_time(const Json& value) {
  constexpr Nanoseconds kMax = std::chrono::hours(24 * 365 * 30);
  const Nanoseconds told = time(value);
  if (told > kMax) throw BadField("a time beyond what clocks show");
  return told;
}

}  // namespace

Json more_of(const PingTally& t) {
  Json more;
  if (t.window) more["window"] = Json::array({t.window->start.count(), t.window->length.count()});
  if (!t.unanswered.empty()) more["unanswered"] = runs_json(t.unanswered);
  if (t.dropped > 0) more["dropped"] = t.dropped;
  return more;
}

void read_more(const Json& more, PingTally& t) {
  if (more.contains("window"))
    t.window = {clock_time(element(more["window"], 0)), clock_time(element(more["window"], 1))};
  if (more.contains("unanswered")) t.unanswered = runs_from(more["unanswered"], t.sent);
  if (packets_in(t.unanswered) + t.answered > t.sent)
    throw BadField(
        fmt::format("{} of {} probes answered, and {} not", t.answered, t.sent, packets_in(t.unanswered)));
  if (more.contains("dropped")) t.dropped = whole<std::uint64_t>(more["dropped"]);
}

Json more_of(const ReceivedTally& t) {
  Json more;
  if (t.missing) more["missing"] = runs_json(*t.missing);
  if (t.dropped > 0) more["dropped"] = t.dropped;
  return more;
}

void read_more(const Json& more, ReceivedTally& t) {
  constexpr std::uint64_t kSequences = std::uint64_t{1} << 32;
  if (more.contains("missing")) t.missing = runs_from(more["missing"], kSequences);
  if (more.contains("dropped")) t.dropped = whole<std::uint64_t>(more["dropped"]);
}

Json more_of(const FlowTally& t) { return t.started ? Json{{"started", t.started->count()}} : Json(); }

void read_more(const Json& more, FlowTally& t) {
  if (more.contains("started")) t.started = clock_time(more["started"]);
}

}  // namespace weft::json_fields
