#include "cli/compare_temperatures.hpp"

#include "cli/kept_counters.hpp"
#include "collectors/counters/fabric_temperature.hpp"
#include "collectors/store/watch_store.hpp"

namespace weft::cli {
namespace {

Result<std::map<Nanoseconds, double>> kept_temperatures(const std::filesystem::path& file) {
  WEFT_TRY(auto opened, store::open_to_read(file));
  const auto kept = kept_counters(opened.database, "celsius\":");
  return kept ? fabric_temperatures(kept->table) : std::map<Nanoseconds, double>();
}

}  // namespace

Result<void> take_temperatures(const std::filesystem::path& database,
                               std::span<std::vector<compare::Run>* const> sides) {
  WEFT_TRY(const auto temperatures, kept_temperatures(database));
  if (temperatures.empty())
    return fail(ErrorKind::not_found,
                "--db {}: no temperature of a NIC is kept there: standing agents tell them to a watch",
                database.string());
  bool any = false;
  for (auto* runs : sides)
    for (compare::Run& run : *runs) {
      if (!run.moment) continue;
      any = true;
      if (!run.moment->celsius) run.moment->celsius = counters::temperature_at(temperatures, run.moment->at);
    }
  if (!any) return fail(ErrorKind::usage, "--db: no run tells when it was taken: name a table with --times");
  return {};
}

}  // namespace weft::cli
