#include "probes/session/path_search_script.hpp"

#include <algorithm>
#include <map>

namespace weft::session {
namespace {

/// A wave that is answered less than this was asked too fast: more than the losses of a fabric that is of
/// use.
constexpr double kAnswered = 0.8;
constexpr std::size_t kFewAskings = 16;  // fewer tell nothing of a rate
/// Below what switches are commonly held to (100 a second); slower, a search would not end.
constexpr double kMinRate = 20;

}  // namespace

PathSearchScript::PathSearchScript(const Fabric& fabric, const AddressBook& addresses,
                                   const SweepOptions& options, RunId run,
                                   const std::vector<plan::NicPair>& pairs)
    : in_{fabric, addresses, options, run},
      results_(in_),
      pairs_(pairs),
      search_(results_.learner, fabric, addresses, pairs, {options.confidence, run.value()}),
      rate_(options.answers_per_second) {}

/// What was answered of the latest wave says how fast the next may ask.
void PathSearchScript::note_rate() {
  const double share = search_.answered_share();
  if (asked_ < kFewAskings) return;
  if (share < kAnswered)
    rate_ = std::max(kMinRate, std::min(rate_, asked_rate_) * share);
  else
    rate_ = std::min(in_.options.answers_per_second, rate_ * 1.25);
}

std::vector<WorkItem> PathSearchScript::next_wave() {
  if (cut_short_) return {};
  note_rate();
  std::map<std::pair<plan::NicPair, plan::HopRange>, std::vector<PathLabel>> labels;
  const auto askings = search_.next();
  for (const auto& asking : askings) labels[{asking.pair, asking.hops}].push_back(asking.label);
  std::vector<plan::TracePlan> plan;
  for (auto& [asked, of] : labels) plan.push_back({asked.first, std::move(of), asked.second});
  auto work = trace_work(in_, results_, plan, {rate_, 1});
  asked_ = askings.size();
  double longest = 0;
  for (const WorkItem& item : work) {
    const auto& request = std::get<datapath::TraceRequest>(item.work);
    std::size_t probes = 0;
    for (const datapath::TraceSpec& spec : request.specs) probes += spec.hops();
    probes_ += probes;
    longest = std::max(longest, static_cast<double>(probes) / request.pace.packets_per_second);
  }
  const Nanoseconds of_one = least_trace_time(in_.fabric, results_.learner.ways(), plan, 1.0);
  asked_rate_ = longest > 0 ? std::chrono::duration<double>(of_one).count() / longest : rate_;
  return work;
}

void PathSearchScript::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto& request = std::get<datapath::TraceRequest>(item.work);
  const auto answers = by_spec(request, answer);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const datapath::TraceSpec& spec = request.specs[i];
    search_.take(
        {{item.nic, request.peers[spec.peer].nic}, spec.label, {spec.first_hop, spec.max_hops, spec.to_peer}},
        answers[i]);
  }
}

void PathSearchScript::exclude(PortId nic) {
  results_.out.insert(nic);
  for (const plan::NicPair& pair : pairs_)
    if (pair.src == nic || pair.dst == nic) search_.leave(pair);
}

}  // namespace weft::session
