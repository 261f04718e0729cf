// CounterWatch: reads counters of ports while a watch runs, keeps readings for a fortnight (in the database
// of --state, else in memory) and says which ports degrade or counted errors. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/counter_source.hpp"
#include "collectors/store/database.hpp"
#include "collectors/web/page_source.hpp"

namespace weft::cli {

class CounterWatch final : public web::WarningSource {
 public:
  /// With `database`, what was kept in it. The fabric outlives it. Errors: those of the database.
  static Result<std::unique_ptr<CounterWatch>> open(CounterSource source, const Fabric& fabric,
                                                    const std::filesystem::path& database);
  /// Looks every ten minutes, by a thread of its own in the network of the calling one.
  void start();
  /// Reads and judges once. What cannot be read is told as trouble; what was known stays until it is too old.
  void look(Nanoseconds now);
  PortWarnings warnings() const override;

 private:
  CounterWatch(CounterSource source, const Fabric& fabric) : source_(std::move(source)), fabric_(fabric) {}
  Result<PortWarnings> judged(Nanoseconds now);
  Result<void> keep(const std::map<Nanoseconds, std::string>& texts, Nanoseconds now);

  CounterSource source_;
  const Fabric& fabric_;
  std::optional<store::Database> database_;
  std::map<Nanoseconds, std::string> kept_;  // by the begin of two hours
  mutable std::mutex mutex_;
  PortWarnings warnings_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace weft::cli
