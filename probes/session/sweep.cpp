#include "probes/session/sweep.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "probes/diagnosis/host/nic_counter_evidence.hpp"
#include "probes/session/echo_stage.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/ping_stage.hpp"
#include "probes/session/stage.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

/// CounterStage: asks the NICs that take part what their devices have counted, once.
class CounterStage : public Stage {
 public:
  /// `readings` outlives it and takes what comes; a NIC whose device tells nothing is left out.
  CounterStage(const SweepInputs& in, SweepResults& results, std::map<PortId, NicCounters>& readings)
      : in_(&in), results_(&results), readings_(&readings) {}
  std::string_view name() const override { return "reading counters"; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  const SweepInputs* in_;
  SweepResults* results_;
  std::map<PortId, NicCounters>* readings_;
  bool asked_ = false;
};

constexpr auto kLimit = std::chrono::seconds(5);  // some drivers ask the firmware for each of a hundred files

std::vector<WorkItem> CounterStage::next_wave() {
  std::vector<WorkItem> work;
  if (std::exchange(asked_, true)) return work;
  for (const NodeId host : in_->fabric.hosts())
    for (const PortId nic : in_->fabric.ports_of(host))
      if (results_->takes_part(nic) && in_->addresses.address_of(nic))
        work.push_back({nic, kLimit, CounterQuery{}});
  return work;
}

void CounterStage::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto* read = answer ? std::get_if<std::vector<NicCounters>>(answer) : nullptr;
  if (read && !read->empty()) readings_->insert_or_assign(item.nic, read->front());
}

constexpr std::size_t kMaxHypotheses = 16;
constexpr int kMaxSettlings = 3;  // load rounds may fall to stalled senders; pings may raise another question

}  // namespace

std::unique_ptr<Stage> NicCounterReadings::read(Moment moment) {
  if (!in_->options.nic_counters) return nullptr;
  return std::make_unique<CounterStage>(*in_, *results_, readings_[moment]);
}

void NicCounterReadings::note() {
  const auto& before = readings_[Moment::before];
  const auto& at_load = readings_[Moment::at_load];
  for (const auto& [nic, after] : readings_[Moment::after]) {
    const auto first = before.find(nic);
    if (first == before.end()) continue;
    auto steps = steps_between(nic, first->second, after);
    if (!steps) continue;
    if (const auto loaded = at_load.find(nic); loaded != at_load.end())
      if (auto of_load = steps_between(nic, loaded->second, after))
        steps->load_window = of_load->window, steps->load_steps = std::move(of_load->steps);
    steps_.push_back(std::move(*steps));
  }
  auto evidence = diagnosis::nic_counter_evidence(in_->fabric, steps_);
  Observations& known = results_->observations;
  std::ranges::move(evidence.counts, std::back_inserter(known.counts));
  std::ranges::move(evidence.channels, std::back_inserter(known.channels));
  std::ranges::move(evidence.hosts, std::back_inserter(known.hosts));
}

Sweep::Sweep(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run)
    : in_{fabric, addresses, options, run},
      results_(in_),
      pings_(in_, results_),
      load_(in_, results_),
      counters_(in_, results_) {
  add(counters_.read(NicCounterReadings::Moment::before));
  stages_.push_back(std::make_unique<MapStage>(in_, results_));
}

Sweep::~Sweep() = default;

std::vector<WorkItem> Sweep::next_wave() {
  while (part_ != Part::done) {
    while (!stages_.empty()) {
      const auto left = std::accumulate(
          stages_.begin(), stages_.end(), 0.0,
          [](double sum, const auto& stage) { return sum + static_cast<double>(stage->waves_left()); });
      auto wave = stages_.front()->next_wave();
      if (!wave.empty()) {
        const RunPart part = share_of(part_);
        const double begin = std::max(part.begin, at_.end);  // what is left of the part, shared by its waves
        at_ = {begin, begin + (part.end - begin) / std::max(1.0, left)};
        return wave;
      }
      stages_.pop_front();
    }
    begin_next_part();
  }
  return {};
}

void Sweep::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!stages_.empty()) stages_.front()->take(item, answer);
}

void Sweep::meet(const std::vector<diagnosis::JoinedHost>& hosts) {
  for (HostEvidence& evidence : check_hosts(in_.fabric, hosts, expectations_)) blame(std::move(evidence));
}

std::string_view Sweep::doing() const { return stages_.empty() ? "diagnosing" : stages_.front()->name(); }

/// The stage in hand is incomplete and counts for nothing; those before it are evidence.
bool Sweep::cut_short(const std::string& why) {
  cut_short_ = why;
  stages_.clear();
  part_ = Part::done;
  return true;
}

void Sweep::skip_mapping() {
  stages_.clear();
  paths_known_ = true;
}

/// By the time that the parts take, of a sweep that finds little: the shares of the budget, and a map that
/// takes about as long as the small probes.
RunPart Sweep::share_of(Part part) const {
  constexpr double kMapped = 0.25;
  constexpr double kSettled = 0.9;
  const double probed = load_.wanted() ? 0.55 : 0.85;
  switch (part) {
    case Part::mapping:
      return {0, kMapped};
    case Part::probing:
      return {kMapped, probed - 0.02};
    case Part::sizing:
      return {probed - 0.02, probed};
    case Part::loading:
      return {probed, kSettled};
    case Part::counting:
      return {kSettled, kSettled + 0.01};
    case Part::settling:
    case Part::done:
      return {kSettled + 0.01, 1};
  }
  return {};
}

void Sweep::begin_next_part() {
  switch (part_) {
    case Part::mapping:
      part_ = Part::probing;
      if (!paths_known_) note_map(in_, results_);
      add(pings_.probe());
      if (!echoes_.empty())
        stages_.push_back(std::make_unique<EchoStage>(in_, results_, echoes_, in_.options.probes_per_second,
                                                      in_.options.budget_seconds(kEchoShare)));
      break;
    case Part::probing:
      part_ = Part::sizing;
      add(pings_.size());
      break;
    case Part::sizing:
      part_ = Part::loading;
      if (auto load = load_.load()) {
        add(counters_.read(NicCounterReadings::Moment::at_load));
        add(std::move(load));
      }
      break;
    case Part::loading:
      add(load_.load_again());
      if (!stages_.empty()) break;
      part_ = Part::counting;
      add(counters_.read(NicCounterReadings::Moment::after));
      break;
    case Part::counting:
      part_ = Part::settling;
      counters_.note();
      plan_settling();
      break;
    case Part::settling:
      if (settlings_ < kMaxSettlings) plan_settling();
      if (!stages_.empty()) break;
      note_corruption();
      note_slow_nics();
      part_ = Part::done;
      break;
    case Part::done:
      break;
  }
}

void Sweep::add(std::unique_ptr<Stage> stage) {
  if (stage) stages_.push_back(std::move(stage));
}
void Sweep::add(std::vector<std::unique_ptr<Stage>> stages) {
  std::ranges::move(stages, std::back_inserter(stages_));
}

diagnosis::Assessment Sweep::assess_to_settle() const {
  return diagnosis::assess(in_.fabric, results_.observations, in_.options.tolerate,
                           {.purpose = diagnosis::Purpose::settling, .is_over = computing_.settling});
}

void Sweep::plan_settling() {
  const auto assessment = assess_to_settle();
  auto hypotheses = assessment.hypotheses;
  std::erase_if(hypotheses, [](const diagnosis::Hypothesis& hypothesis) { return hypothesis.packets == 0; });
  if (hypotheses.size() > kMaxHypotheses) hypotheses.resize(kMaxHypotheses);
  // Where nothing is found, what settling raised is asked too: it keeps the run from being healthy.
  const Verdict verdict = assessment.diagnosis.verdict;
  if (settlings_++ == 0 || verdict == Verdict::healthy || verdict == Verdict::unknown)
    add(pings_.settle(hypotheses));
  add(load_.press(assessment));
  if (stages_.empty()) settlings_ = kMaxSettlings;  // the same data would raise no more
}

/// Who held a pattern back; flows over what is found at fault were held back there.
void Sweep::note_slow_nics() {
  if (in_.options.pattern == LoadPattern::links || results_.flows.flows.empty()) return;
  const auto found = slow_channels(assess_to_settle());
  auto flows = results_.flows.flows;
  std::erase_if(flows, [&](const FlowResult& flow) {
    const PathTable& paths = results_.observations.paths;
    return std::ranges::any_of(paths.paths(flow.path), [&](PathId path) {
      return std::ranges::any_of(paths.channels(path), [&](ChannelId c) { return found.contains(c); });
    });
  });
  for (const SlowNic& slow : slow_nics(flows))
    blame({in_.fabric.port(slow.nic).node, slow.nic, Verdict::degraded, Cause::rate,
           fmt::format("slow in {}: {} of its {} flows got less than {:.0f} % of what is usual",
                       slow.receives ? "receiving" : "sending", slow.slow, slow.flows, kSlowFlow * 100)});
}

void Sweep::note_corruption() {
  for (HostEvidence& evidence : silent_corruption(in_.fabric, results_.verified)) blame(std::move(evidence));
}

void Sweep::excuse(std::uint64_t dropped) {
  auto& probes = results_.observations.probes;
  std::vector<std::size_t> rows(probes.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::erase_if(rows, [&](std::size_t row) { return probes[row].sent == 0; });
  share_out(dropped, std::move(rows), probes);
}

void Sweep::cover(Diagnosis& found) {
  diagnosis::cover(in_.fabric, results_.observations, in_.options.detect, found);
  Coverage& covered = found.coverage;
  if (!scope_.empty()) {
    diagnosis::limit_to(covered, scope_);
    covered.out_of_scope_told_by = out_of_scope_told_by_;
  }
  const auto left_out = [this](ChannelId channel) {
    return left_out_.contains(in_.fabric.source(channel)) || left_out_.contains(in_.fabric.target(channel));
  };
  std::erase_if(covered.missing, left_out);
  std::erase_if(covered.thin, left_out);
  if (load_.wanted()) {
    diagnosis::note_unloaded(in_.fabric, results_.observations, covered);
    std::erase_if(covered.unloaded, left_out);
    if (auto why = load_.left_out(covered.unloaded)) covered.fell_short.push_back(std::move(*why));
  }
  covered.not_tested = results_.not_tested;
  covered.cut_short = cut_short_;
  diagnosis::conclude(in_.fabric, results_.observations, in_.options.detect, found);
}

SweepReport Sweep::finish() {
  SweepReport report{
      diagnosis::diagnose(in_.fabric, results_.observations, in_.options.tolerate, computing_.verdict),
      results_.sent, results_.lost};
  if (!cut_short_ && computing_.verdict && computing_.verdict()) cut_short_ = computing_.why;
  cover(report.diagnosis);
  report.diagnosis.verdict = diagnosis::verdict_of_run(in_.fabric, results_.observations, report.diagnosis);
  return report;
}

}  // namespace weft::session
