#include "collectors/store/reported_nics.hpp"

#include <gtest/gtest.h>

#include "collectors/store/migrations.hpp"
#include "tests/collectors/store/store_rig.hpp"

namespace weft::store {
namespace {

ReportedNic kept_nic(const std::string& host, const std::string& firmware) {
  return {.nic = host + "/p1",
          .host = host,
          .interface = "eth2",
          .driver = "mlx5_core",
          .firmware = firmware,
          .pci = "0000:3b:00.0",
          .pci_id = "15b3:1021",
          .speed = Bandwidth::gbit(400),
          .module_part = "P1",
          .module_serial = "S1",
          .agent = "0.9",
          .told = kStart};
}

TEST(ReportedNics, AreReadAsTheyWereToldLastByHost) {
  const StoreFile file;
  auto store = WatchStore::open(file.path(), small_fabric()).value();
  auto& database = store.database();
  EXPECT_TRUE(kept_reported_nics(database)->empty());
  const auto two = kept_nic("host2", "28.39");
  ASSERT_TRUE(keep_reported_nics(database, {two, kept_nic("host1", "28.36")}));
  auto down = kept_nic("host1", "28.39");  // another firmware by now
  down.speed.reset();
  ASSERT_TRUE(keep_reported_nics(database, {down}));
  EXPECT_EQ(kept_reported_nics(database).value(), (std::vector<ReportedNic>{down, two}));
  EXPECT_TRUE(keep_reported_nics(database, {}));
}

TEST(ReportedNics, AnOlderDatabaseHasNoneAfterItsMigration) {
  const StoreFile file;
  {
    auto old = Database::open(file.path(), Database::Access::write).value();
    ASSERT_TRUE(migrate(old, watch_schema(), 4));
  }
  auto store = WatchStore::open(file.path(), small_fabric()).value();
  EXPECT_TRUE(kept_reported_nics(store.database())->empty());
}

}  // namespace
}  // namespace weft::store
