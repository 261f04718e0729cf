#include "collectors/nccl/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "topology/base/readable.hpp"
#include "topology/base/statistics.hpp"

namespace weft::nccl {
namespace {

constexpr std::uint64_t kMinMoved = 1'000'000;  // bytes between two tables: the job is not at rest
constexpr Nanoseconds kMaxYoung = std::chrono::milliseconds(34);  // 4 MB at 1 Gbit/s, as kMinStall
constexpr double kBusy = 0.5;                                     // share of the time with work under way
constexpr double kBusyOverMedian = 2.0;     // and so many times that of the middle queue pair
constexpr double kQuietOverMedian = 1.25;   // without a queue: no more than this
constexpr std::size_t kMinBusySample = 8;   // queue pairs that move, to speak of a middle
constexpr double kMaxFailed = 0.1;          // with errors: of more, an abort flushed them
constexpr std::uint32_t kNcclTimeout = 20;  // NCCL_IB_TIMEOUT where a table does not tell
constexpr std::uint32_t kNcclRetries = 7;   // NCCL_IB_RETRY_CNT
constexpr std::size_t kMaxShown = 4;        // queue pairs that are told one by one

/// Devices number their queue pairs alike, and processes of two pid namespaces may have one pid: those of
/// equal pid on a host are told apart by their ranks, or by what they send from.
auto key_of(const QpTable& table, const QpRecord& qp) {
  return std::tuple(std::string_view(table.host), qp.pid, qp.rank, std::string_view(qp.device),
                    std::string_view(qp.nic), qp.gid, qp.number);
}
using QpKey = decltype(key_of(QpTable(), QpRecord()));

}  // namespace

QpView::QpView(const HangInput& input, const Job& job) {
  pair_tables(input, job);
  judge_stalls();
  judge_queues();
}

void QpView::pair_tables(const HangInput& input, const Job& job) {
  std::map<std::pair<std::string_view, std::uint64_t>, std::optional<Rank>> rank_of;  // by host and process
  for (const Rank rank : job.ranks())
    if (const RankPlace* place = job.place_of(rank); place != nullptr && place->pid)
      if (const auto [at, is_new] = rank_of.try_emplace({place->host, *place->pid}, rank); !is_new)
        at->second.reset();  // of several: whose is not known
  std::map<QpKey, std::pair<std::size_t, std::pair<Nanoseconds, Nanoseconds>>> known;  // first and last time
  for (const QpTable& table : input.qps) {
    if (table.by_kernel) unseen_ += table.qps.size();
    if (table.by_kernel) continue;
    for (const QpRecord& record : table.qps) {
      const auto [at, is_new] =
          known.try_emplace(key_of(table, record), qps_.size(), std::pair(table.at, table.at));
      auto& [index, times] = at->second;
      if (is_new) {
        Qp made{.host = &table.host, .last = &record};
        made.rank = record.rank;
        if (const auto found = rank_of.find({table.host, record.pid}); !made.rank && found != rank_of.end())
          made.rank = found->second;
        qps_.push_back(made);
        continue;
      }
      Qp& qp = qps_[index];
      if (table.at > times.second) {
        if (qp.first == nullptr) qp.first = qp.last;
        qp.last = &record, times.second = table.at;
      } else if (table.at < times.first) {
        qp.first = &record, times.first = table.at;
      }
      qp.between = times.second - times.first;
    }
  }
  for (Qp& qp : qps_)
    if (qp.first != nullptr && qp.between.count() > 0 && qp.last->bytes >= qp.first->bytes)
      qp.moved = qp.last->bytes - qp.first->bytes;
}

void QpView::judge_stalls() {
  Nanoseconds longest{};
  for (Qp& qp : qps_) {
    const QpRecord& last = *qp.last;
    const bool still = qp.moved == 0 && qp.first->outstanding > 0 && qp.between >= kMinStall;
    const bool old = last.oldest && *last.oldest >= kMinStall;
    qp.stalled = last.outstanding > 0 && (old || (!last.oldest && still));
    if (qp.stalled) longest = std::max(longest, last.oldest.value_or(qp.between));
    if (qp.moved.value_or(0) >= kMinMoved) ++moving_;
    if (last.errors > 0) ++failed_;
  }
  // A queue pair that gave up has nothing under way any more.
  const bool by_errors =
      longest.count() == 0 && static_cast<double>(failed_) <= kMaxFailed * static_cast<double>(qps_.size());
  for (Qp& qp : qps_) {
    if (by_errors && qp.last->errors > 0) qp.stalled = true;
    stalled_ += qp.stalled ? 1 : 0;
    // What was acknowledged before others began to wait says nothing of the time since.
    const bool since = qp.last->quiet ? *qp.last->quiet <= longest : qp.moved.value_or(0) > 0;
    // A message of some age is neither stalled nor acknowledged in time.
    const bool young = qp.last->outstanding == 0 || (qp.last->oldest && *qp.last->oldest <= kMaxYoung);
    qp.clean_stall = !qp.stalled && young && qp.last->errors == 0 && qp.last->bytes > 0 && since;
  }
}

void QpView::judge_queues() {
  std::vector<double> shares;
  for (Qp& qp : qps_) {
    if (!qp.moved || *qp.moved == 0 || !qp.last->busy || !qp.first->busy || *qp.last->busy < *qp.first->busy)
      continue;
    qp.busy_share = std::min(1.0, static_cast<double>((*qp.last->busy - *qp.first->busy).count()) /
                                      static_cast<double>(qp.between.count()));
    shares.push_back(*qp.busy_share);
  }
  if (shares.size() < kMinBusySample) return;
  const double usual = median(shares);
  for (Qp& qp : qps_) {
    if (!qp.busy_share) continue;
    qp.busy = *qp.busy_share >= std::max(kBusy, kBusyOverMedian * usual);
    qp.clean_busy = *qp.busy_share <= kQuietOverMedian * usual;
    busy_ += qp.busy ? 1 : 0;
  }
}

std::vector<Rank> QpView::waiting() const {
  std::set<Rank> ranks;
  std::set<Rank> sending;
  for (const Qp& qp : qps_)
    if (qp.rank) (qp.last->outstanding > 0 || qp.stalled ? sending : ranks).insert(*qp.rank);
  std::vector<Rank> all;
  std::ranges::set_difference(ranks, sending, std::back_inserter(all));
  return all;
}

TimeLimit QpView::time_limit() const {
  std::optional<TimeLimit> first;
  for (const Qp& qp : qps_) {
    if (!qp.stalled) continue;
    const auto timeout = qp.last->timeout.value_or(kNcclTimeout);
    const auto retries = qp.last->retries.value_or(kNcclRetries);
    if (timeout == 0) continue;  // no limit
    const double seconds = 4.096e-6 * std::pow(2.0, timeout) * (retries + 1);
    const char* const told = qp.last->timeout ? "" : " (NCCL's own values)";
    if (!first || seconds < first->seconds)
      first = {"queue pair", seconds, fmt::format("4.096 us * 2^{} * {}{}", timeout, retries + 1, told)};
  }
  return first.value_or(TimeLimit{"queue pair", 0, "no limit"});
}

std::vector<std::string> QpView::remarks() const {
  std::vector<std::string> all;
  if (failed_ > 0) all.push_back(fmt::format("{} of {} queue pairs have errors", failed_, qps_.size()));
  if (unseen_ > 0)
    all.push_back(fmt::format(
        "what {} queue pairs of the tables have under way: the kernel's list alone tells of them, "
        "no library",
        unseen_));
  return all;
}

NetworkFindings QpView::locate(const JobFabric& fabric, bool busy) const {
  std::vector<JudgedQp> judged;
  for (const Qp& qp : qps_) {
    const bool bad = busy ? qp.busy : qp.stalled;
    const bool good = busy ? qp.clean_busy : qp.clean_stall;
    judged.push_back({qp.last, bad ? QpSays::bad : good ? QpSays::good : QpSays::nothing});
  }
  NetworkFindings found = locate_links(fabric, judged);
  std::size_t shown = 0;
  for (const Qp& qp : qps_) {
    if (!(busy ? qp.busy : qp.stalled) || shown++ >= kMaxShown) continue;
    const QpRecord& last = *qp.last;
    std::string text =
        fmt::format("queue pair {}{} of process {} on {}", last.device.empty() ? "" : last.device + "/",
                    last.number.value(), last.pid, *qp.host);
    if (qp.rank) text += fmt::format(" (rank {})", *qp.rank);
    if (busy)
      text += fmt::format(": work under way {:.0f} % of the time", 100 * qp.busy_share.value_or(0));
    else if (last.errors > 0 && last.outstanding == 0)
      text += fmt::format(": {} completions with an error", last.errors);
    else
      text += fmt::format(": {} sends under way, nothing acknowledged for {}", last.outstanding,
                          last.oldest ? readable(*last.oldest) : "at least " + readable(qp.between));
    found.evidence.push_back(std::move(text));
  }
  const std::size_t all = busy ? busy_ : stalled_;
  if (all > kMaxShown) found.evidence.push_back(fmt::format("and {} queue pairs more", all - kMaxShown));
  return found;
}

}  // namespace weft::nccl
