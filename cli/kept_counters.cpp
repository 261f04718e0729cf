#include "cli/kept_counters.hpp"

#include <ranges>

#include "collectors/counters/counter_file.hpp"
#include "collectors/store/counter_readings.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {

std::optional<KeptCounters> kept_counters(store::Database& database, std::string_view word) {
  const auto file = store::kept_fabric_file(database);
  const auto readings = store::kept_counter_readings(database);
  if (!file || file->empty() || !readings || readings->empty()) return std::nullopt;
  auto of = files::parse_fabric_file(*file, "the fabric that is kept in the database");
  if (!of) return std::nullopt;
  KeptCounters kept{std::move(of->fabric), {}};
  // The newest first: where the table is full, it is the oldest that are left out.
  for (const auto& [begin, text] : std::views::reverse(*readings))
    if (text.find(word) != std::string::npos)
      static_cast<void>(
          counters::read_counter_file(kept.fabric, text, "kept readings", "", os::wall_now(), kept.table));
  kept.table.sort_points();
  return kept;
}

}  // namespace weft::cli
