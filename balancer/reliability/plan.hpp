// Plan: how often a job will be interrupted, how much of its time moves it on, how many hosts must stay idle
// as spares, what is worth improving. Forecasts are of drawn histories (history.hpp), closed forms stand
// beside them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "balancer/reliability/closed_form.hpp"
#include "balancer/reliability/job.hpp"

namespace weft::reliability {

struct WhatIf {
  std::string text;  // as asked
  Job job;
};
/// `job` changed by one of what_if_keys(), as "detect=5s" or "leaf=50%" (half of its failures). Error
/// (usage): what it may be.
Result<WhatIf> parse_what_if(std::string_view text, const Job& job);
/// All changes that there are, in one line.
std::string_view what_if_keys();
/// "never", "restart", "agents" or a time.
Result<Sweeps> parse_sweeps(std::string_view text, Sweeps sweeps);
/// "30d,4h,16": every 30 days the next 16 hosts are out for 4 hours.
Result<PlannedWork> parse_planned_work(std::string_view text);
/// To about three digits, in the unit that people say: "6.84 d", "4 h".
std::string time_text(Hours time);
std::string planned_text(const PlannedWork& planned);
/// Error (usage): sweeps take all of the time.
Result<void> check_sweep_cost(const Sweeps& sweeps);
std::string sweeps_text(const Sweeps& sweeps);

struct PlanRequest {
  Job job;                      // hosts, times; its spares and checkpoint interval count where given:
  std::optional<Index> spares;  // absent: as few as .999 of restarts at full size need
  bool best_interval = true;    // Daly's, in place of job.checkpoint_every
  Hours length{54 * 24};
  std::size_t histories = 300;
  std::uint64_t seed = 1;
  Hours lead_time{14 * 24};           // until parts that were ordered come
  std::vector<std::string> what_ifs;  // parse_what_if()
  std::vector<std::string> guesses;   // inputs of the job that nobody gave
};

/// A mean with what chance leaves open of it, and where 95 % of all histories lie.
struct Estimated {
  double mean = 0, error = 0;  // of the mean: standard error
  double low = 0, high = 0;
};

struct CauseForecast {
  std::size_t cause = 0;
  CountSource source;      // of all failures in the fabric: what was seen, and how often that comes again
  CountForecast failures;  // of all parts of the fabric: what repairs are made of
  CountForecast interruptions;
  double stopping = 0;      // share of the failures that interrupt the job, by formula
  double rate_at_most = 0;  // per part and year, 95 %
  bool unseen = false;      // no event of it was counted
  bool guessed = false;
  bool borrowed = false;  // its events are of another site, though the other rates are of this one
  bool edited = false;    // its events are not those published, though the other rates are
};

struct SpareStep {
  double asked = 0;             // share of restarts at full size
  std::optional<Index> spares;  // absent: more than the fabric has, or than could be told
  Index independent = 0;        // by M/G/infinity, as if hosts failed one by one
};

/// Where the hosts of the pool stand.
struct PodRow {
  Index pod = 0, hosts = 0, spares = 0;
};

struct Span {
  Index least = 0, most = 0;
};

/// Hosts and spares in each leaf group (hosts below the same leaves), pod or rail.
struct WhereRow {
  std::string kind;
  Index groups = 0;
  Span hosts, spares;                        // in one of them, of the pool
  std::vector<std::optional<Span>> of_step;  // spares in one of them, by step of the curve
};

/// What nobody counted: were failures of NICs and cables silent besides, this share of what is counted.
struct SilentRow {
  double share = 0;
  Hours sweep_every{};
};

struct Gain {
  std::string what;
  double gain = 0, low = 0, high = 0;  // of the share of the time, paired, 95 %
  double unpaired = 0;                 // half the width that independent histories would leave
};

struct SweepRow {
  std::string policy;
  double effective = 0;
  double cost = 0;     // share of the time
  Hours undetected{};  // of all slow parts, mean of histories
};

struct BlastRow {
  std::string what;       // "leaf leaf1 and 95 more"
  std::size_t hosts = 0;  // that it takes away
  double slowdown = 1;    // of the network below it, where it takes links
};

struct ShelfRow {
  std::string what;
  double mean = 0;          // that fail within the lead time
  std::uint64_t parts = 0;  // .99
};

/// A part that rates name as one that fails far more often than others of its class.
struct OffenderRow {
  PartClass part = PartClass::host;
  std::string name;
  std::uint64_t events = 0;
  double ratio = 1;     // of its rate to that of the others
  double offender = 0;  // probability
};

struct Plan {
  std::string fabric;
  std::uint64_t gpus = 0;
  Index plant_hosts = 0;
  std::array<std::uint64_t, files::kPartClasses.size()> parts{};  // of the fabric, by class
  Job job;                                                        // with what was chosen for it
  Hours length{};
  std::size_t histories = 0;
  std::uint64_t seed = 1;
  std::string origin;
  bool is_own = false;
  std::vector<std::string> guesses;
  std::size_t unknown_parts = 0;  // that rates know by names which the fabric does not have

  CountForecast interruptions;
  std::vector<CauseForecast> causes;
  Estimated effective;
  TimeSpent spent;  // shares of the length, in hours of it
  double kept = 0;  // share of restarts at full size with job.spares
  std::uint64_t restarts = 0;
  std::vector<SpareStep> steps;
  std::vector<double> short_of;        // by number of spares: share of restarts that lack a host
  std::vector<OffenderRow> offenders;  // probable ones (.5), the surest first
  std::vector<PodRow> pods;            // with hosts of the pool; empty where the fabric names no pods
  std::vector<WhereRow> where;
  std::size_t largest_group = 0;  // hosts that one leaf or domain takes away

  Hours mean_to_failure{};
  double closed_form = 0;
  Hours young{}, daly{};
  double hosts_out = 0;  // M/G/infinity
  std::optional<Hours> sweep_every;
  std::vector<std::string> differs;  // why the simulation is elsewhere than the closed forms

  std::vector<SweepRow> sweeps;
  std::vector<SilentRow> if_silent;  // where the rates have nothing silent
  std::vector<BlastRow> blast;
  std::vector<ShelfRow> shelf;
  Hours lead_time{};
  std::size_t drains_allowed = 0;        // hosts, by the caps of a blacklist,
  std::size_t cable_drains_allowed = 0;  // and cables between switches
  std::vector<Gain> improvements;        // by 10 %, the best first
  std::vector<Gain> what_ifs;
};

/// What is being done, how many histories of it are done, and of how many.
using PlanProgress = std::function<void(std::string_view doing, std::size_t done, std::size_t total)>;

/// `tell` may be empty. Errors: usage (the job does not fit, an option that cannot be), invalid_input (rates
/// that make more failures than can be simulated; a checkpoint that makes no progress).
Result<Plan> make_plan(const Plant& plant, const files::Rates& rates, const PlanRequest& request,
                       const PlanProgress& tell = {});

/// "1 host", "2 hosts".
std::string counted(std::uint64_t count, std::string_view what);
/// The first line of the answer.
std::string plan_sentence(const Plan& plan);
std::string plan_table(const Plan& plan, std::size_t columns);
/// A page that opens offline: no script, nothing from elsewhere.
std::string plan_html(const Plan& plan);
/// Of the sweeps, the one with the most effective time; empty: the rates have nothing silent.
std::string best_sweep(const Plan& plan);
std::string plan_json(const Plan& plan, const files::DocumentStamp& stamp);

}  // namespace weft::reliability
