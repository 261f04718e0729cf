#include "collectors/store/reported_nics.hpp"

#include <cmath>

namespace weft::store {

Result<void> keep_reported_nics(Database& database, const std::vector<ReportedNic>& nics) {
  if (nics.empty()) return {};
  return database.in_transaction([&]() -> Result<void> {
    for (const ReportedNic& nic : nics)
      WEFT_TRY_VOID(database.execute(
          "INSERT OR REPLACE INTO nics VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
          {nic.nic, nic.host, nic.interface, nic.driver, nic.firmware, nic.pci, nic.pci_id,
           nic.speed ? SqlValue(std::int64_t{std::llround(nic.speed->bits_per_second())}) : SqlValue(),
           nic.module_part, nic.module_serial, nic.agent, std::int64_t{nic.told.count()}}));
    return {};
  });
}

Result<std::vector<ReportedNic>> kept_reported_nics(Database& database) {
  std::vector<ReportedNic> nics;
  WEFT_TRY_VOID(
      database.query("SELECT nic, host, interface, driver, firmware, pci, pci_id, bits_per_second, part, "
                     "serial, agent, told "
                     "FROM nics ORDER BY host, nic",
                     {}, [&](const Row& row) -> Result<void> {
                       ReportedNic nic{.nic = row.text(0),
                                       .host = row.text(1),
                                       .interface = row.text(2),
                                       .driver = row.text(3),
                                       .firmware = row.text(4),
                                       .pci = row.text(5),
                                       .pci_id = row.text(6),
                                       .module_part = row.text(8),
                                       .module_serial = row.text(9),
                                       .agent = row.text(10),
                                       .told = Nanoseconds(row.integer(11))};
                       if (!row.is_null(7)) nic.speed = Bandwidth::bit(static_cast<double>(row.integer(7)));
                       nics.push_back(std::move(nic));
                       return {};
                     }));
  return nics;
}

}  // namespace weft::store
