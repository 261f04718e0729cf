#include "collectors/store/counter_readings.hpp"

namespace weft::store {

Result<std::map<Nanoseconds, std::string>> kept_counter_readings(Database& database) {
  std::map<Nanoseconds, std::string> texts;
  WEFT_TRY_VOID(
      database.query("SELECT begin, lines FROM counter_readings", {}, [&](const Row& row) -> Result<void> {
        texts.emplace(Nanoseconds(row.integer(0)), row.text(1));
        return {};
      }));
  return texts;
}

Result<void> keep_counter_readings(Database& database, const std::map<Nanoseconds, std::string>& texts,
                                   Nanoseconds from, Nanoseconds until) {
  return database.in_transaction([&]() -> Result<void> {
    for (const auto& [begin, text] : texts)
      WEFT_TRY_VOID(database.execute("INSERT OR REPLACE INTO counter_readings VALUES(?1, ?2)",
                                     {std::int64_t{begin.count()}, text}));
    return database.execute("DELETE FROM counter_readings WHERE begin < ?1 OR begin > ?2",
                            {std::int64_t{from.count()}, std::int64_t{until.count()}});
  });
}

}  // namespace weft::store
