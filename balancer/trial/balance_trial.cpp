#include "balancer/trial/balance_trial.hpp"

#include <algorithm>

#include "balancer/assign/avoid.hpp"
#include "topology/model/fabric.hpp"

namespace weft::trial {
namespace {

/// Batches of the trial, apart from those that a sweep of the same run counts from one.
constexpr std::uint32_t kFirstBatch = 1U << 20;
/// Beyond what sendings took before: a stuck QP is shown to be stuck, no longer.
constexpr Nanoseconds kStuck = std::chrono::seconds(2);

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::vector<plan::TracePlan> traces_of(const demand::Demand& demand, std::uint32_t labels) {
  std::set<std::pair<PortId, PortId>> pairs;
  for (const demand::Phase& phase : demand.phases)
    for (const demand::Flow& flow : phase.flows)
      if (flow.src != flow.dst) pairs.insert({{flow.src, flow.dst}, {flow.dst, flow.src}});
  std::vector<plan::TracePlan> plan;
  for (const auto& [src, dst] : pairs) plan.push_back({{src, dst}, plan::spread_labels(labels)});
  return plan;
}

}  // namespace

BalanceTrial::BalanceTrial(const Fabric& fabric, const AddressBook& addresses, const demand::Demand& demand,
                           RunId run, TrialOptions options, TrialWorld& world)
    : fabric_(fabric),
      addresses_(addresses),
      demand_(demand),
      run_(run),
      options_(std::move(options)),
      world_(world),
      in_{fabric, addresses, options_.sweep, run},
      last_batch_(kFirstBatch) {
  options_.assign.reverse = true;
  begin_mapping();
}

void BalanceTrial::begin_mapping() {
  if (results_) last_batch_ = BatchId(results_->last_batch);
  map_.reset();
  sending_.reset();
  results_ = std::make_unique<session::SweepResults>(in_);
  results_->out = out_;
  results_->last_batch = last_batch_.value();
  map_ = std::make_unique<session::MapStage>(in_, *results_, traces_of(demand_, options_.labels));
  since_ = world_.now();
}

std::vector<session::WorkItem> BalanceTrial::next_wave() {
  while (part_ != Part::done) {
    auto wave = ask();
    if (!wave.empty()) return wave;
    if (!advance()) part_ = Part::done;
  }
  return {};
}

/// More work of what is under way.
std::vector<session::WorkItem> BalanceTrial::ask() {
  switch (part_) {
    case Part::mapping:
    case Part::mapping_again:
      return map_->next_wave();
    case Part::sending:
    case Part::failing:
    case Part::sending_again:
      return sending_ ? sending_->next_wave() : std::vector<session::WorkItem>();
    case Part::diagnosing:
      return sweep_->next_wave();
    case Part::done:
      break;
  }
  return {};
}

/// What is under way is over: on to the next. False: nothing is left.
bool BalanceTrial::advance() {
  if (!outcome_) return false;
  switch (part_) {
    case Part::mapping:
      adopt_map();
      if (options_.repeats == 0 || assignment_.phases.empty()) return false;
      part_ = Part::sending;
      begin_repeat();
      return outcome_.has_value();
    case Part::sending:
      if (!end_sending()) return outcome_.has_value();
      if (sendings_.size() < std::size_t{2} * options_.repeats) return begin_repeat(), outcome_.has_value();
      if (!options_.fail) return false;
      fail_link();
      return outcome_.has_value();
    case Part::failing:
      if (!end_sending()) return outcome_.has_value();
      part_ = Part::mapping_again;
      begin_mapping();
      return true;
    case Part::mapping_again:
      new_paths_ = results_->learner.path_map();
      after_->mapping = seconds(world_.now() - since_);
      part_ = Part::diagnosing;
      since_ = world_.now();
      sweep_ = std::make_unique<session::Sweep>(fabric_, addresses_, options_.sweep, run_);
      for (const PortId nic : out_) sweep_->leave_out(nic);
      return true;
    case Part::diagnosing:
      steer_around();
      return outcome_.has_value();
    case Part::sending_again:
      return !end_sending() && outcome_;
    case Part::done:
      break;
  }
  return false;
}

void BalanceTrial::adopt_map() {
  paths_ = results_->learner.path_map();
  labelled_.emplace(paths_);
  options_.assign.paths = &paths_;
  assignment_ = assign::assign(fabric_, demand_, options_.assign);
}

SendingInHand::Phases BalanceTrial::steered() const {
  SendingInHand::Phases phases;
  for (std::size_t p = 0; p < demand_.phases.size(); ++p)
    phases.push_back(
        steered_sendings(*labelled_, demand_.phases[p], assignment_.phases[p], options_.transfer.size));
  return phases;
}

SendingInHand::Phases BalanceTrial::hashed(std::uint64_t seed) const {
  SendingInHand::Phases phases;
  for (const demand::Phase& phase : demand_.phases)
    phases.push_back(hashed_sendings(*labelled_, phase, options_.assign.qps, options_.transfer.size, seed++));
  return phases;
}

/// In turn, so that what changes on the machine in the meantime meets both.
void BalanceTrial::begin_repeat() {
  const bool random = sendings_.size() % 2 == 1;
  const auto draw = options_.assign.seed * 1000 + sendings_.size();
  begin_sending(!random, random ? hashed(draw) : steered(), options_.transfer.limit);
}

void BalanceTrial::begin_sending(bool is_steered, SendingInHand::Phases phases, Nanoseconds limit) {
  auto before = world_.carried();
  if (!before) return void(give_up(before.error()));
  sending_.emplace(SendingInHand::Ground{in_, *results_, options_, world_}, is_steered, std::move(phases),
                   limit, std::move(*before));
}

/// True when all phases are through and the sending is on record.
bool BalanceTrial::end_sending() {
  if (!sending_->end_phase()) return false;
  auto sent = sending_->finish();
  if (!sent) return give_up(sent.error());
  switch (part_) {
    case Part::failing:
      after_->stuck = std::move(*sent);
      break;
    case Part::sending_again: {
      const auto& bytes = sending_->first_bytes();
      if (bytes.first) after_->first_byte = seconds(*bytes.first - diagnosed_);
      after_->unacknowledged = bytes.unacknowledged;
      if (bytes.unacknowledged == 0 && bytes.last) after_->in_force = seconds(*bytes.last - diagnosed_);
      after_->again = std::move(*sent);
      break;
    }
    default:
      sendings_.push_back(std::move(*sent));
  }
  sending_.reset();
  return true;
}

void BalanceTrial::fail_link() {
  if (const auto down = world_.take_down(*options_.fail); !down) return void(give_up(down.error()));
  after_.emplace();
  part_ = Part::failing;
  // What the link does not hold back is through by then.
  double slowest = 0;
  for (const TrialSending& sending : sendings_)
    if (sending.steered) slowest = std::max(slowest, sending.measured);
  const auto usual = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(1.5 * slowest));
  begin_sending(true, steered(), std::min(options_.transfer.limit, kStuck + usual));
}

/// The diagnosis is there: from here on the clock runs.
void BalanceTrial::steer_around() {
  const Diagnosis diagnosis = sweep_->finish().diagnosis;
  diagnosed_ = world_.now();
  after_->diagnosing = seconds(diagnosed_ - since_);
  after_->verdict = diagnosis.verdict;
  for (const LinkFinding& finding : diagnosis.links)
    if (finding.verdict == Verdict::failed) after_->blamed.push_back(finding.link);
  std::vector<std::vector<assign::KeptQp>> before;
  for (std::size_t p = 0; p < demand_.phases.size(); ++p)
    before.push_back(kept(demand_.phases[p], assignment_.phases[p]));
  assign::AssignOptions options = options_.assign;
  options.paths = &new_paths_;
  for (const assign::Avoided& avoided : assign::avoided_by(diagnosis)) options.avoid.push_back(avoided);
  assignment_ = reassign(fabric_, demand_, options, before);
  for (const assign::PhaseAssignment& phase : assignment_.phases) after_->moved += phase.moves;
  labelled_.emplace(new_paths_);
  after_->assigning = seconds(world_.now() - diagnosed_);
  part_ = Part::sending_again;
  begin_sending(true, steered(), options_.transfer.limit);
}

void BalanceTrial::take(const session::WorkItem& item, const session::TaskAnswer* answer) {
  if (part_ == Part::diagnosing)
    sweep_->take(item, answer);
  else if (part_ == Part::mapping || part_ == Part::mapping_again)
    map_->take(item, answer);
  else if (sending_)
    sending_->take(item, answer);
}

void BalanceTrial::exclude(PortId nic) {
  out_.insert(nic);
  if (results_) results_->out.insert(nic);
  if (sweep_) sweep_->exclude(nic);
}

void BalanceTrial::blame(HostEvidence evidence) {
  give_up({ErrorKind::absent, fmt::format("{}: {}", fabric_.name_of(evidence.host), evidence.text)});
}

void BalanceTrial::not_tested(NotTested what) {
  give_up({ErrorKind::absent, fmt::format("{}: {}", fabric_.name_of(what.host), what.why)});
}

bool BalanceTrial::give_up(Error error) {
  if (outcome_) outcome_ = tl::unexpected<Error>(std::move(error));
  return false;
}

std::string_view BalanceTrial::doing() const {
  switch (part_) {
    case Part::mapping:
    case Part::mapping_again:
      return "mapping paths";
    case Part::sending:
    case Part::failing:
    case Part::sending_again:
      return "sending";
    case Part::diagnosing:
      return sweep_->doing();
    case Part::done:
      break;
  }
  return "comparing";
}

}  // namespace weft::trial
