#include "collectors/nccl/hang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "collectors/nccl/job.hpp"
#include "collectors/nccl/network.hpp"
#include "collectors/nccl/proxy_waits.hpp"
#include "collectors/nccl/suspects.hpp"

namespace weft::nccl {
namespace {

constexpr std::size_t kMaxCalls = 4;  // that have not returned, and waits of proxies: told one by one

constexpr std::array<std::pair<HangCause, std::string_view>, 10> kNames{{
    {HangCause::none, "none"},
    {HangCause::never_entered, "never_entered"},
    {HangCause::dead, "dead"},
    {HangCause::host, "host"},
    {HangCause::mismatch, "mismatch"},
    {HangCause::order, "order"},
    {HangCause::network, "network"},
    {HangCause::slow_rank, "slow_rank"},
    {HangCause::slow_network, "slow_network"},
    {HangCause::unknown, "unknown"},
}};

Verdict verdict_of(HangCause cause) {
  switch (cause) {
    case HangCause::none:
      return Verdict::healthy;
    case HangCause::slow_rank:
    case HangCause::slow_network:
      return Verdict::degraded;
    case HangCause::unknown:
      return Verdict::unknown;
    case HangCause::never_entered:
    case HangCause::dead:
    case HangCause::host:
    case HangCause::mismatch:
    case HangCause::order:
    case HangCause::network:
      return Verdict::failed;
  }
  return Verdict::unknown;
}

void conclude(HangVerdict& told, HangCause cause, std::string sentence) {
  told.cause = cause;
  told.verdict = verdict_of(cause);
  told.sentence = std::move(sentence);
}

/// `slow`: it is slow, else work stands that nobody acknowledges.
void blame_network(const QpView& qps, const std::optional<JobFabric>& fabric, bool slow, HangVerdict& told) {
  const std::size_t count = slow ? qps.busy() : qps.stalled();
  const auto what = slow ? fmt::format("{} of {} queue pairs always have work under way", count, qps.count())
                         : fmt::format("{} of {} queue pairs have work under way that nobody acknowledges",
                                       count, qps.count());
  const HangCause cause = slow ? HangCause::slow_network : HangCause::network;
  NetworkFindings found;
  if (fabric) found = qps.locate(*fabric, slow);
  told.evidence.push_back(what);
  told.evidence.insert(told.evidence.end(), found.evidence.begin(), found.evidence.end());
  told.alternatives = found.alternatives;
  if (!slow) told.victims = qps.waiting();
  if (!found.host.empty())
    return conclude(told, HangCause::host,
                    fmt::format("host {} acknowledges nothing on any of its NICs: it is down or cut off, no "
                                "single link is at fault",
                                found.host));
  if (found.links.size() == 1) {
    const SuspectLink& link = found.links.front();
    told.links = found.links;
    return conclude(
        told, cause,
        fmt::format("{}: link {}{}, with confidence {:.2f}: {}", slow ? "the network is slow" : "the network",
                    link.link, link.from.empty() ? "" : " (sent by " + link.from + ")", link.confidence,
                    what));
  }
  if (!found.links.empty()) {
    told.links = found.links;
    return conclude(told, cause, fmt::format("the network, at {} links: {}", found.links.size(), what));
  }
  if (!fabric) told.missing.emplace_back("which link: --fabric and --paths lead from queue pairs to links");
  const char* const where = !fabric ? "which link is not known without --fabric"
                            : !found.alternatives.empty()
                                ? "one of several links, which the paths do not tell apart"
                                : "no link explains them";
  // Work that nobody acknowledges is the network's, wherever; work that takes long is not proven so.
  if (slow || (fabric && found.alternatives.empty()))
    return conclude(told, HangCause::unknown, fmt::format("unknown, because {}, and {}", what, where));
  conclude(told, cause, fmt::format("the network, {}: {}", where, what));
}

void doubt_calls(const Job& job, HangVerdict& told) {
  const auto& [rank, entry] = *job.in_calls().begin();
  conclude(
      told, HangCause::unknown,
      fmt::format(
          "unknown, because the call of {} for {} ({}) has probably not returned: {} such in all",
          job.name_of(rank), to_string(job.operation(rank, *entry)),
          entry->is_p2p ? "a transfer between two ranks" : fmt::format("collective {}", entry->collective),
          job.in_calls().size()));
  for (const auto& [one, call] : job.in_calls()) {
    if (told.evidence.size() == kMaxCalls) break;
    told.evidence.push_back(
        fmt::format("{}: {} is told to be completed {:.1f} s after it was called, and PyTorch's watchdog has "
                    "not taken it off its list: it may wait for its peer within NCCL",
                    job.name_of(one), to_string(job.operation(one, *call)),
                    static_cast<double>(call->completed - call->created) / 1e9));
  }
}

/// Why, where no collective is open, it is not certain that nothing hangs; absent: it is.
std::optional<std::string> doubt_at_rest(const Job& job, const ProxyWaits& proxies, std::size_t without_dump,
                                         std::size_t transfers) {
  if (job.ranks().empty()) return "there is no dump that can be used";
  if (without_dump > 0)
    return fmt::format("{} of {} ranks left no dump that can be used; of the others nothing hangs",
                       without_dump, job.ranks().size());
  if (job.unplaced() > 0)
    return fmt::format("{} collectives are not completed whose group the dumps contradict each other about",
                       job.unplaced());
  for (const JobGroup& group : job.groups())
    if (!group.members_known)
      return fmt::format("the dumps do not say who is in {}; of those that there are nothing hangs",
                         group.title());
  if (transfers > 0)
    return fmt::format("{} transfers between two ranks are not completed, and no collective is", transfers);
  if (proxies.under_way() > 0)
    return fmt::format("the proxies of NCCLX have {} transfers under way, and no collective is open",
                       proxies.under_way());
  return std::nullopt;
}

/// What stops it otherwise.
void report_limits(const QpView& qps, const JobGroup* group, HangVerdict& told) {
  if (told.cause == HangCause::network && qps.stalled() > 0) {
    if (auto limit = qps.time_limit(); limit.seconds > 0) told.limits.push_back(std::move(limit));
  }
  std::optional<std::uint64_t> watchdog;
  if (group)
    for (const Member& member : group->members)
      if (member.entry != nullptr && member.entry->timeout_ms > 0)
        watchdog = std::min(watchdog.value_or(member.entry->timeout_ms), member.entry->timeout_ms);
  if (watchdog)
    told.limits.push_back(
        {"PyTorch's watchdog", static_cast<double>(*watchdog) / 1e3, "timeout_ms of the dumps"});
  if (told.cause == HangCause::dead || told.cause == HangCause::host)
    told.limits.push_back({"RAS", static_cast<double>(kRasDeadAfterS), "it calls a silent process dead"});
  std::ranges::stable_sort(told.limits, {}, &TimeLimit::seconds);
}

Collective collective_of(const Job& job, const JobGroup& group) {
  Collective made{.group = group.name, .description = group.description, .number = *group.hangs_at};
  for (const Member& member : group.members)
    if (member.entry != nullptr && member.blocked == group.hangs_at) {
      made.operation = to_string(job.operation(member.rank, *member.entry));
      break;
    }
  return made;
}

class Explanation {
 public:
  Explanation(const HangInput& input, const std::optional<JobFabric>& fabric)
      : input_(&input),
        fabric_(&fabric),
        job_(input),
        proxies_(job_),
        qps_(input, job_),
        found_(find_suspects(job_, proxies_)),
        group_(found_.group ? &job_.groups()[*found_.group] : nullptr) {}

  HangVerdict explain() && {
    told_.missing = job_.remarks();
    for (std::string& remark : qps_.remarks()) told_.missing.push_back(std::move(remark));
    report_missing_dumps();
    const bool went_on = group_ && group_->went_on;
    const bool moves = qps_.moving() > 0 || went_on;
    if (found_.suspicion && !moves) {
      blame_rank(*found_.suspicion);
      if (found_.suspicion->cause == HangCause::never_entered && !input_->ras_later)
        told_.missing.emplace_back(
            "whether the job moves by now: dumps do not say when they were taken, NCCL's RAS (--ras "
            "HOST:PORT) does");
      if (qps_.stalled() > 0)
        told_.missing.push_back(
            fmt::format("{} queue pairs have work that is not acknowledged: ask again once this is mended",
                        qps_.stalled()));
    } else if (const auto silent = may_be_dead(); qps_.stalled() > 0 && !silent.empty()) {
      conclude(
          told_, HangCause::unknown,
          fmt::format(
              "unknown, because {} queue pairs have work that nobody acknowledges, and {} of {} ranks left "
              "no dump: where a process is dead, its peers wait like this, too; RAS (--ras) tells who lives",
              qps_.stalled(), silent.size(), job_.ranks().size()));
    } else if (qps_.stalled() > 0) {
      blame_network(qps_, *fabric_, false, told_);
    } else if (const auto slow = find_slow_ranks(job_); slow && (moves || !group_)) {
      blame(*slow);
    } else if (qps_.busy() > 0) {
      blame_network(qps_, *fabric_, true, told_);
    } else if (went_on) {
      conclude(
          told_, HangCause::none,
          fmt::format("nothing hangs: all {} ranks of {} went on to further collectives while RAS was asked",
                      group_->members.size(), group_->title()));
    } else if (group_) {
      conclude(told_, HangCause::unknown, why_unknown(moves));
    } else {
      nothing_hangs();
    }
    if (group_ && !(went_on && told_.cause == HangCause::none))
      told_.collective = collective_of(job_, *group_);
    if (told_.cause == HangCause::unknown) report_waits();
    if (told_.cause != HangCause::none) report_limits(qps_, group_, told_);
    return std::move(told_);
  }

 private:
  void report_missing_dumps() {
    without_dump_ = job_.ranks_without_dump();
    for (const LostDump& lost : input_->lost)
      if (told_.missing.size() < 12) told_.missing.push_back(fmt::format("{}: {}", lost.file, lost.why));
    if (!without_dump_.empty())
      told_.missing.push_back(fmt::format("no usable dump of {} of {} ranks: {}", without_dump_.size(),
                                          job_.ranks().size(), rank_list(without_dump_)));
  }

  /// Ranks of which there is no dump, and that RAS does not say to answer.
  std::vector<Rank> may_be_dead() const {
    auto silent = without_dump_;
    std::erase_if(silent, [this](Rank rank) { return job_.ras_of(rank) == RasState::answers; });
    return silent;
  }

  void blame(const Suspicion& suspicion) {
    conclude(told_, suspicion.cause, suspicion.sentence);
    told_.ranks = suspicion.ranks;
    told_.evidence = suspicion.evidence;
  }

  void blame_rank(const Suspicion& suspicion) {
    blame(suspicion);
    if (group_)
      for (const Member& member : group_->members)
        if (member.blocked && !std::ranges::binary_search(suspicion.ranks, member.rank))
          told_.victims.push_back(member.rank);
  }

  /// Who waits for a rank of which no wait is known.
  void report_waits() {
    std::size_t told = 0;
    for (const ProxyWait& wait : proxies_.all()) {
      const bool is_lost = std::ranges::binary_search(without_dump_, wait.remote);
      if (!is_lost && !proxies_.is_idle(wait.remote)) continue;
      if (told++ < kMaxCalls)
        told_.evidence.push_back(
            fmt::format("{}, which {}", to_string(wait), is_lost ? "left no dump" : "has nothing under way"));
    }
    if (told > kMaxCalls) told_.evidence.push_back(fmt::format("and {} such waits more", told - kMaxCalls));
  }

  std::string why_unknown(bool moves) const {
    const JobGroup& group = *group_;
    if (moves)
      return "unknown, because the job moves, and neither a rank nor a link is slower than the others";
    std::vector<Rank> silent;
    for (const Member& member : group.members)
      if (!member.has_dump) silent.push_back(member.rank);
    const auto at = fmt::format("collective {} of {}", *group.hangs_at, group.title());
    if (!silent.empty())
      return fmt::format(
          "unknown, because {} of the {} ranks of {} left no dump that can be used ({}), and the others wait "
          "in {}",
          silent.size(), group.members.size(), group.title(), rank_list(silent), at);
    if (!found_.why.empty()) return "unknown, because " + found_.why;
    return fmt::format(
        "unknown, because all {} ranks entered {} and none differs: {}", group.members.size(), at,
        qps_.count() == 0 ? "tables of their queue pairs (--qps) would tell whether it is the network"
                          : "no queue pair in the tables has old work under way");
  }

  void nothing_hangs() {
    if (const auto doubt = doubt_at_rest(job_, proxies_, without_dump_.size(), found_.transfers))
      return conclude(told_, HangCause::unknown, "unknown, because " + *doubt);
    if (!job_.in_calls().empty()) return doubt_calls(job_, told_);
    if (const auto wrong = find_completed_mismatch(job_)) {
      blame(*wrong);
      told_.missing.emplace_back("nothing hangs: what ranks got of that collective is wrong all the same");
      return;
    }
    conclude(told_, HangCause::none,
             fmt::format("nothing hangs: all {} ranks completed all that they entered", job_.ranks().size()));
  }

  const HangInput* input_;
  const std::optional<JobFabric>* fabric_;
  Job job_;
  ProxyWaits proxies_;
  QpView qps_;
  Suspects found_;
  const JobGroup* group_;  // that hangs by itself; null: none
  std::vector<Rank> without_dump_;
  HangVerdict told_;
};

}  // namespace

std::string_view to_string(HangCause cause) {
  return std::ranges::find(kNames, cause, &decltype(kNames)::value_type::first)->second;
}

std::optional<HangCause> parse_hang_cause(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, &decltype(kNames)::value_type::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

HangVerdict explain_hang(const HangInput& input, const std::optional<JobFabric>& fabric) {
  return Explanation(input, fabric).explain();
}

}  // namespace weft::nccl
