#include "collectors/nccl/job_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace weft::nccl {
namespace {

/// A process tells ten times a second, and tables of a host are taken some seconds apart.
constexpr Nanoseconds kMaxSilence = std::chrono::minutes(1);
constexpr std::size_t kMaxNamed = 4;  // processes that are passed over, jobs

using ProcessKey = std::tuple<std::string, std::uint64_t, std::string>;  // host, process, job

ProcessKey key_of(const QpTable& table) { return {table.host, table.pid, table.job}; }

std::string job_name(const std::string& job) { return job.empty() ? "no job" : "job " + job; }

std::string list_of(const std::set<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names)
    if (shown.size() < kMaxNamed) shown.push_back(name);
  const std::size_t more = names.size() - shown.size();
  if (more > 0) shown.push_back(fmt::format("{} more", more));
  const std::string last = shown.back();
  shown.pop_back();
  return shown.empty() ? last : fmt::format("{} and {}", fmt::join(shown, ", "), last);
}

/// Removes the tables of which `is` holds; their processes, by name.
template <class Is>
std::set<std::string> take_out(std::vector<QpTable>& tables, Is is) {
  std::set<std::string> names;
  std::erase_if(tables, [&](const QpTable& table) {
    if (!is(table)) return false;
    const auto rank = table.qps.empty() ? std::nullopt : table.qps.front().rank;
    names.insert(fmt::format("process {} on {}{}", table.pid, table.host,
                             rank ? fmt::format(" (rank {})", *rank) : ""));
    return true;
  });
  return names;
}

/// Two jobs that both have it.
struct SharedRank {
  Rank rank = 0;
  std::string one;
  std::string other;
};
std::optional<SharedRank> shared_rank(const std::vector<QpTable>& tables) {
  std::map<Rank, std::string_view> job_of;
  for (const QpTable& table : tables)
    for (const QpRecord& qp : table.qps) {
      if (!qp.rank) continue;
      const auto first = job_of.try_emplace(*qp.rank, table.job).first;
      if (first->second != table.job)
        return SharedRank{*qp.rank, job_name(std::string(first->second)), job_name(table.job)};
    }
  return std::nullopt;
}

}  // namespace

Result<JobTables> tables_of_job(std::vector<QpTable> tables, const std::optional<std::string>& job) {
  std::map<std::string, Nanoseconds> newest;       // of each host
  std::map<ProcessKey, Nanoseconds> last_told;     // of each process
  std::map<ProcessKey, Nanoseconds> last_of_dead;  // what a process told last that has ended
  std::set<std::string> jobs;
  for (const QpTable& table : tables) {
    jobs.insert(job_name(table.job));
    if (table.by_kernel) continue;  // as of when it was asked, whatever its processes do
    const auto latest = [&](auto& of, const auto& key) {
      auto& at = of.try_emplace(key, table.at).first->second;
      at = std::max(at, table.at);
    };
    latest(newest, table.host);
    latest(last_told, key_of(table));
    if (table.has_ended) latest(last_of_dead, key_of(table));
  }
  JobTables made{.tables = std::move(tables), .passed_over = {}};
  if (job && !made.tables.empty()) {
    std::erase_if(made.tables, [&](const QpTable& table) { return table.job != *job; });
    if (made.tables.empty())
      return fail(ErrorKind::usage, "--job {}: no table of queue pairs is of that job; they are of {}", *job,
                  list_of(jobs));
  }
  // A pod may have a process of the same number that lives: it tells later than the dead one did.
  const auto ended = take_out(made.tables, [&](const QpTable& table) {
    const auto dead = last_of_dead.find(key_of(table));
    return dead != last_of_dead.end() && table.at <= dead->second;
  });
  const auto silent = take_out(made.tables, [&](const QpTable& table) {
    return !table.by_kernel && newest.at(table.host) - last_told.at(key_of(table)) > kMaxSilence;
  });
  if (!ended.empty())
    made.passed_over.push_back("those of ended processes are passed over: " + list_of(ended));
  if (!silent.empty())
    made.passed_over.push_back(
        "those of processes that told nothing for more than a minute are passed over, as if these stood "
        "still "
        "or had ended: " +
        list_of(silent));
  if (const auto shared = job ? std::nullopt : shared_rank(made.tables))
    return fail(ErrorKind::usage,
                "the tables of queue pairs are of several jobs: {} and {} both have a rank {}: say by --job "
                "which one hangs",
                shared->one, shared->other, shared->rank);
  return made;
}

}  // namespace weft::nccl
