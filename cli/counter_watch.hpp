// CounterWatch: reads counters of ports while a watch runs, from its sources and from what standing agents
// tell of their own NICs; keeps readings for a fortnight (in the database of --state, else in memory) and
// says which ports degrade or counted errors. Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cli/counter_source.hpp"
#include "collectors/counters/host_counters.hpp"
#include "collectors/store/database.hpp"
#include "collectors/web/page_source.hpp"
#include "topology/findings/reported_nic.hpp"

namespace weft::cli {

class CounterWatch final : public web::WarningSource {
 public:
  /// With `database`, what was kept in it. The fabric outlives it. Errors: those of the database.
  static Result<std::unique_ptr<CounterWatch>> open(CounterSource source, const Fabric& fabric,
                                                    const std::filesystem::path& database);
  /// Looks every ten minutes, by a thread of its own in the network of the calling one; without a source of
  /// its own also some seconds after an agent told something.
  void start();
  /// What the agent of a host told. The newest of each host waits for the next look; what is too much for the
  /// memory of all hosts is dropped.
  void take(counters::HostPorts own, std::string text);
  /// Reads and judges once. What cannot be read is told as trouble; what was known stays until it is too old.
  void look(Nanoseconds now);
  PortWarnings warnings() const override;

 private:
  struct Reported {
    counters::HostPorts own;
    std::string text;
  };

  CounterWatch(CounterSource source, const Fabric& fabric) : source_(std::move(source)), fabric_(fabric) {}
  Result<PortWarnings> judged(Nanoseconds now);
  void read_agents(Nanoseconds now);
  std::vector<ReportedNic> nics_of(const counters::HostPorts& own) const;
  Result<void> read_sources(counters::CounterTable& into) const;
  Nanoseconds last_kept(Nanoseconds now) const;
  /// What was read from `from` on.
  Result<void> keep(const counters::CounterTable& read, Nanoseconds from, Nanoseconds now);

  CounterSource source_;
  const Fabric& fabric_;
  std::optional<store::Database> database_;
  std::map<Nanoseconds, std::string> kept_;        // by the begin of two hours
  std::pair<Nanoseconds, std::string> last_kept_;  // of an earlier life: the last of it
  counters::HostCounters hosts_;
  std::string nics_trouble_;   // why what agents told of their NICs is not kept
  Nanoseconds reported_at_{};  // when an agent's reading was read last
  struct {
    std::string host, text;
    Nanoseconds at{};
  } useless_;  // the last of agents' readings that was
  mutable std::mutex mutex_;
  std::condition_variable_any is_told_;
  std::map<std::string, Reported> told_;  // by host, not read yet
  std::size_t reported_bytes_ = 0;
  PortWarnings warnings_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace weft::cli
