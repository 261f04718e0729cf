#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collectors/nccl/slow.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/statistics.hpp"

namespace weft::nccl {
namespace {

constexpr double kQuiet = 1.25;        // times the median step: not held up
constexpr std::size_t kMaxShown = 4;   // queue pairs that are told one by one
constexpr std::size_t kMinSample = 4;  // queue pairs, to speak of a median

using Process = std::pair<std::string, std::uint64_t>;  // host and pid
using QpKey = std::pair<Process, std::uint32_t>;

struct Waited {
  double steps = 0;
  double seconds = 0;
  double of_step() const { return seconds / steps; }
};

/// Whose queue pair is at fault: of a rank to a peer, in these collectives (of all: where it is so always).
struct Scope {
  std::set<std::tuple<std::string, std::string, std::uint64_t>> collectives;
  bool all = false;
};

class SlowLinks {
 public:
  SlowLinks(const std::vector<RankProfile>& profiles, const std::vector<QpTable>& tables)
      : profiles_(profiles) {
    std::set<QpKey> several;  // devices number their queue pairs alike
    for (const QpTable& table : tables) {
      if (table.by_kernel) continue;  // a step's queue pairs are those of the library
      for (const QpRecord& record : table.qps) {
        const QpKey key{{table.host, record.pid}, record.number.value()};
        auto& kept = records_[key];
        if (kept != nullptr && (kept->gid != record.gid || kept->nic != record.nic)) several.insert(key);
        if (kept == nullptr || record.bytes >= kept->bytes) kept = &record;
        hosts_of_pid_[record.pid].insert(table.host);
      }
    }
    for (const QpKey& key : several) records_.erase(key);
  }

  void locate(const JobFabric& fabric, SlowReport& report) {
    const Scope scope = scope_of(report);
    if (!scope.all && scope.collectives.empty()) return;
    sum(scope);
    if (waited_.empty()) {
      report.evidence.emplace_back(
          knows_qps_ ? "which link is not known: the queue pairs of these steps are not in the tables (--qps)"
                     : "which link is not known: these steps do not tell by which queue pairs they went");
      return;
    }
    const double usual = usual_step();
    std::vector<JudgedQp> judged;
    for (const auto& [key, record] : records_) {
      const auto found = waited_.find(key);
      QpSays says = QpSays::nothing;
      if (found != waited_.end() && usual > 0) {
        const double step = found->second.of_step();
        if (step > kSlowFactor * usual && step - usual >= kMinLost)
          says = QpSays::bad;
        else if (step <= kQuiet * usual)
          says = QpSays::good_there;
      }
      if (says == QpSays::bad) add_slow(key, *record, found->second.of_step(), usual, report);
      judged.push_back({record, says});
    }
    if (bad_ > kMaxShown) report.evidence.push_back(fmt::format("and {} queue pairs more", bad_ - kMaxShown));
    auto found = locate_links(fabric, judged);
    report.links = std::move(found.links);
    report.alternatives = std::move(found.alternatives);
    std::ranges::move(found.evidence, std::back_inserter(report.evidence));
    if (bad_ > 0 && report.links.empty() && report.alternatives.empty() && found.host.empty())
      report.evidence.emplace_back("no link explains these queue pairs");
  }

 private:
  /// Of a profile that says no host: where just one host has such a process.
  Process process_of(const ProfileCommunicator& communicator) const {
    if (!communicator.host.empty()) return {communicator.host, communicator.pid};
    const auto found = hosts_of_pid_.find(communicator.pid);
    if (found == hosts_of_pid_.end() || found->second.size() != 1) return {"", communicator.pid};
    return {*found->second.begin(), communicator.pid};
  }

  static Scope scope_of(const SlowReport& report) {
    Scope scope;
    for (const SlowStanding& one : report.standing)
      scope.all = scope.all || one.place.cause == SlowCause::network;
    for (const SlowCollective& one : report.slow)
      if (one.place.cause == SlowCause::network)
        scope.collectives.emplace(one.communicator, one.function, one.sequence);
    return scope;
  }

  void sum(const Scope& scope) {
    for (const RankProfile& profile : profiles_)
      for (const ProfileOperation& operation : profile.operations) {
        const auto& collective = profile.collectives[operation.collective];
        const auto& communicator = profile.communicators[collective.communicator];
        if (!operation.sends) continue;
        if (!scope.all &&
            !scope.collectives.contains({communicator.id, collective.function, collective.sequence}))
          continue;
        add(operation, communicator);
      }
  }

  void add(const ProfileOperation& operation, const ProfileCommunicator& communicator) {
    const Process process = process_of(communicator);
    for (const ProfileQp& qp : operation.qps) {
      knows_qps_ = true;
      const QpKey key{process, qp.number.value()};
      if (qp.steps == 0 || !records_.contains(key)) continue;
      Waited& waited = waited_[key];
      waited.steps += static_cast<double>(qp.steps);
      waited.seconds += static_cast<double>(qp.network.count()) / 1e9;
    }
  }

  double usual_step() const {
    std::vector<double> steps;
    for (const auto& [key, waited] : waited_) steps.push_back(waited.of_step());
    return steps.size() < kMinSample ? 0 : median(steps);
  }

  void add_slow(const QpKey& key, const QpRecord& record, double step, double usual, SlowReport& report) {
    if (bad_++ >= kMaxShown) return;
    const auto time = [](double seconds) {
      return readable(Nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
    };
    std::string text =
        fmt::format("queue pair {} of process {} on {}", key.second, key.first.second, key.first.first);
    if (record.rank) text += fmt::format(" (rank {} of the job)", *record.rank);
    if (record.label) text += fmt::format(", label {}", record.label->value());
    report.evidence.push_back(
        fmt::format("{}: a step waits {} for the network, {} elsewhere", text, time(step), time(usual)));
  }

  const std::vector<RankProfile>& profiles_;
  std::map<QpKey, const QpRecord*> records_;
  std::map<std::uint64_t, std::set<std::string>> hosts_of_pid_;
  std::map<QpKey, Waited> waited_;
  bool knows_qps_ = false;
  std::size_t bad_ = 0;
};

}  // namespace

void locate_slow(const std::vector<RankProfile>& profiles, const std::vector<QpTable>& tables,
                 const JobFabric& fabric, SlowReport& report) {
  SlowLinks(profiles, tables).locate(fabric, report);
}

}  // namespace weft::nccl
