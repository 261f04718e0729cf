#include <algorithm>
#include <array>
#include <charconv>

#include "balancer/reliability/plan.hpp"
#include "topology/base/text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/time_span.hpp"

namespace weft::reliability {
namespace {

constexpr std::string_view kKnown =
    "detect=TIME, restart=TIME, spare-start=TIME, checkpoint=TIME, checkpoint-cost=TIME, find-slow=TIME, "
    "sweep-cost=TIME, agent-delay=TIME, network-share=PERCENT%, spares=N (in all), crews=N, "
    "planned-work=EVERY,LENGTH,HOSTS, repair=PERCENT% (of the times now), "
    "CLASS=PERCENT% (of its failures now: gpu, host, nic, host_cable, switch_cable, leaf, spine, core, "
    "software, "
    "domain), sweep=never|restart|agents|TIME, dual-leaf, without-rail, shrink, wait";

Result<void> set_time(Hours& place, std::string_view value) {
  WEFT_TRY(const auto span, files::parse_span(value));
  place = Hours(span);
  return {};
}

/// Or none: "0s".
Result<void> set_time_or_none(Hours& place, std::string_view value) {
  if (value != "0s") return set_time(place, value);
  place = Hours(0);
  return {};
}

Result<void> set_count(Index& place, std::string_view value) {
  const auto count = parse_whole_number<Index>(value);
  if (!count) return fail(ErrorKind::usage, "expected a whole number");
  place = *count;
  return {};
}

Result<void> set_crews(Index& place, std::string_view value) {
  WEFT_TRY_VOID(set_count(place, value));
  if (place == 0) return fail(ErrorKind::usage, "expected a whole number above 0");
  return {};
}

/// Together with what it is compared with: a sweep that costs more than the time between two.
Result<void> set_sweep_cost(Sweeps& sweeps, std::string_view value) {
  WEFT_TRY_VOID(set_time(sweeps.cost, value));
  return check_sweep_cost(sweeps);
}

/// What is left of it. 3 would be three times as much to one, 3 % to another.
Result<double> share_of(std::string_view value) {
  const auto share = parse_percent(value);
  if (!share || !value.ends_with('%'))
    return fail(
        ErrorKind::usage,
        "'{}': expected what is left of it, 0% to 100%, with its sign; for more failures change their events "
        "in a file of rates",
        value);
  return share->value();
}

Result<void> not_known(std::string_view word) {
  constexpr std::array<std::string_view, 28> kWords{
      "detect",     "restart",      "spare-start", "checkpoint",    "checkpoint-cost", "find-slow",
      "sweep-cost", "spares",       "agent-delay", "network-share", "crews",           "repair",
      "gpu",        "planned-work", "host",        "nic",           "host_cable",      "switch_cable",
      "leaf",       "spine",        "core",        "software",      "domain",          "sweep",
      "dual-leaf",  "without-rail", "shrink",      "wait"};
  return fail(ErrorKind::usage, "no such change (weft plan --help lists them under --what-if){}",
              did_you_mean(word, kWords));
}

std::optional<std::size_t> cause_named(std::string_view word) {
  for (std::size_t cause = 0; cause < kCauses; ++cause)
    if (cause_name(cause) == word) return cause;
  return std::nullopt;
}

Result<void> set_word(Job& job, std::string_view word) {
  if (word == "dual-leaf")
    job.dual_leaf = true;
  else if (word == "without-rail")
    job.without_rail = true;
  else if (word == "shrink" || word == "wait")
    job.shortage = word == "wait" ? Shortage::wait : Shortage::shrink;
  else
    return not_known(word);
  return {};
}

Result<void> set_value(Job& job, std::string_view key, std::string_view value) {
  if (key == "detect") return set_time_or_none(job.detect, value);
  if (key == "restart") return set_time_or_none(job.restart, value);
  if (key == "checkpoint") return set_time(job.checkpoint_every, value);
  if (key == "checkpoint-cost") return set_time_or_none(job.checkpoint_cost, value);
  if (key == "find-slow") return set_time_or_none(job.find_slow, value);
  if (key == "spare-start") return set_time_or_none(job.spare_start, value);
  if (key == "sweep-cost") return set_sweep_cost(job.sweeps, value);
  if (key == "agent-delay") return set_time_or_none(job.sweeps.delay, value);
  if (key == "spares") return set_count(job.spares, value);
  if (key == "crews") return set_crews(job.crews, value);
  if (key == "sweep") {
    WEFT_TRY(job.sweeps, parse_sweeps(value, job.sweeps));
    return {};
  }
  if (key == "network-share") {
    WEFT_TRY(job.network_share, share_of(value));
    return {};
  }
  if (key == "planned-work") {
    WEFT_TRY(job.planned, parse_planned_work(value));
    return {};
  }
  if (key == "repair") {
    WEFT_TRY(const double share, share_of(value));
    job.repair_factor.fill(share);
    return {};
  }
  const auto cause = cause_named(key);
  if (!cause) return not_known(key);
  WEFT_TRY(job.rate_factor[*cause], share_of(value));
  return {};
}

}  // namespace

Result<Sweeps> parse_sweeps(std::string_view text, Sweeps sweeps) {
  if (text == "never") {
    sweeps.policy = SweepPolicy::before_job;
  } else if (text == "restart") {
    sweeps.policy = SweepPolicy::at_restart;
  } else if (text == "agents") {
    sweeps.policy = SweepPolicy::agents;
  } else {
    const auto every = files::parse_span(text);
    if (!every) return fail(ErrorKind::usage, "'{}': expected never, restart, agents or a time as 6h", text);
    sweeps.policy = SweepPolicy::every;
    sweeps.every = Hours(*every);
    if (!check_sweep_cost(sweeps))
      return fail(ErrorKind::usage, "'{}': a sweep each {} would take all of the time", text, text);
  }
  return sweeps;
}

Result<PlannedWork> parse_planned_work(std::string_view text) {
  const auto first = text.find(','),
             second = text.find(',', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos)
    return fail(ErrorKind::usage, "'{}': expected EVERY,LENGTH,HOSTS as in 30d,4h,16", text);
  PlannedWork planned;
  WEFT_TRY_VOID(set_time(planned.every, text.substr(0, first)));
  WEFT_TRY_VOID(set_time(planned.length, text.substr(first + 1, second - first - 1)));
  WEFT_TRY_VOID(set_count(planned.hosts, text.substr(second + 1)));
  if (planned.length >= planned.every || planned.hosts == 0)
    return fail(ErrorKind::usage,
                "'{}': expected a window shorter than the time between two, of a host at least", text);
  return planned;
}

std::string planned_text(const PlannedWork& planned) {
  return fmt::format("every {:.3g} d {} {} out for {:.3g} h", planned.every.count() / 24,
                     counted(planned.hosts, "host"), planned.hosts == 1 ? "is" : "are",
                     planned.length.count());
}

Result<void> check_sweep_cost(const Sweeps& sweeps) {
  if (sweeps.policy != SweepPolicy::every || sweeps.every > sweeps.cost) return {};
  return fail(ErrorKind::usage, "a sweep of {:.3g} min each {:.3g} min would take all of the time",
              sweeps.cost.count() * 60, sweeps.every.count() * 60);
}

std::string_view what_if_keys() { return kKnown; }

std::string sweeps_text(const Sweeps& sweeps) {
  switch (sweeps.policy) {
    case SweepPolicy::before_job:
      return "before the job alone";
    case SweepPolicy::at_restart:
      return "at each restart";
    case SweepPolicy::every:
      return fmt::format("every {}", time_text(sweeps.every));
    case SweepPolicy::agents:
      return "standing agents";
  }
  return {};
}

Result<WhatIf> parse_what_if(std::string_view text, const Job& job) {
  WhatIf changed{std::string(text), job};
  const auto equals = text.find('=');
  const auto done = equals == std::string_view::npos
                        ? set_word(changed.job, text)
                        : set_value(changed.job, text.substr(0, equals), text.substr(equals + 1));
  if (!done) return fail(ErrorKind::usage, "'{}': {}", text, done.error().message);
  return changed;
}

}  // namespace weft::reliability
