// What a watch knows of counters: read again and again, kept, told, and told to be old.
#include "cli/counter_watch.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "collectors/counters/port_warnings.hpp"
#include "collectors/store/counter_readings.hpp"
#include "collectors/store/migrations.hpp"
#include "collectors/store/reported_nics.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Nanoseconds kBegin = hours(480'000);

struct Place {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  os::ScratchDirectory directory = os::ScratchDirectory::make().value();
  std::filesystem::path file = directory.path() / "counters.jsonl";

  /// A file as a device prints it at that hour: one reading.
  void print(int hour) const {
    double errors = 1000;
    for (int h = 0; h <= hour; ++h) {
      const double level = -8 + 0.6 * std::max(h - 200, 0) / 24.0;
      errors += 78.125e6 * 3600 * (1 - std::exp(-5440 * std::pow(10, level)));
    }
    ASSERT_TRUE(files::write_text_file(
        file,
        fmt::format("{{\"schema\":\"weft.counters/1\",\"source\":\"script\"}}\n{{\"at\":\"{}\",\"port\":"
                    "\"leaf1/p4\",\"counters\":{{\"fec_corrected\":{}}}}}\n",
                    instant_text(kBegin + hours(hour)), static_cast<std::uint64_t>(errors))));
  }
  std::unique_ptr<CounterWatch> open(const std::filesystem::path& database = {}) const {
    OptionParser parser("weft test", "Reads counters.", "");
    add_counter_options(parser.options());
    const auto values = parser.parse({"--counters", file.string()}).value();
    auto source = CounterSource::open(values, {});
    auto watch = CounterWatch::open(*std::move(source), fabric, database);
    EXPECT_TRUE(watch) << watch.error().message;
    return *std::move(watch);
  }
  /// Without a source of its own.
  std::unique_ptr<CounterWatch> open_for_agents(const std::filesystem::path& database = {}) const {
    auto watch = CounterWatch::open(CounterSource(), fabric, database);
    EXPECT_TRUE(watch) << watch.error().message;
    return *std::move(watch);
  }
  /// What the agent of a host with one NIC tells at that minute.
  void tell(CounterWatch& watch, const std::string& host, int minute, std::uint64_t errors) const {
    watch.take({"agent " + host, {{"10.0.0.1", *fabric.find_nic(host)}}},
               fmt::format(
                   "{{\"schema\":\"weft.counters/1\"}}\n{{\"at\":\"{}\",\"port\":\"10.0.0.1\",\"boot\":\"b\","
                   "\"celsius\":50.5,\"counters\":{{\"fcs_errors\":{},\"frames_in\":{}}}}}\n",
                   instant_text(kBegin + minutes(minute)), errors, 1'000'000 * (minute + 1)));
  }
  void look(CounterWatch& watch, int from, int until) const {
    for (int hour = from; hour < until; ++hour) {
      print(hour);
      watch.look(kBegin + hours(hour));
    }
  }
};

TEST(CounterWatch, ReadingsOfDaysThatTheSourceDoesNotKeepWarn) {
  const Place place;
  const auto watch = place.open();
  place.look(*watch, 0, 200);
  EXPECT_THAT(watch->warnings().ports, IsEmpty());
  EXPECT_EQ(watch->warnings().told, 1u);
  place.look(*watch, 200, 290);
  const auto found = watch->warnings();
  ASSERT_THAT(found.ports, SizeIs(1));
  EXPECT_TRUE(found.ports[0].degrading);
  EXPECT_EQ(found.ports[0].source, "script");
  EXPECT_EQ(found.trouble, "");
}

TEST(CounterWatch, WhatWasKeptInTheStateOutlivesTheWatch) {
  const Place place;
  const auto database = place.directory.path() / "watch.db";
  ASSERT_TRUE(store::WatchStore::open(database, place.fabric));
  place.look(*place.open(database), 0, 288);
  const auto again = place.open(database);
  place.look(*again, 288, 290);
  ASSERT_THAT(again->warnings().ports, SizeIs(1));
  EXPECT_TRUE(again->warnings().ports[0].degrading);
  place.look(*again, 900, 901);
  auto stored = store::Database::open(database, store::Database::Access::read).value();
  EXPECT_EQ(stored.number("SELECT count(*) FROM counter_readings"), 1) << "a fortnight is over";
}

TEST(CounterWatch, AClockThatWasAheadDoesNotEndWhatIsKept) {
  const Place place;
  const auto database = place.directory.path() / "watch.db";
  ASSERT_TRUE(store::WatchStore::open(database, place.fabric));
  {
    const auto ahead = place.open(database);
    place.look(*ahead, 9'000, 9'001);
  }
  const auto watch = place.open(database);
  place.look(*watch, 0, 290);
  ASSERT_THAT(watch->warnings().ports, SizeIs(1)) << "readings of days are there";
  const auto again = place.open(database);
  again->look(kBegin + hours(289));
  EXPECT_THAT(again->warnings().ports, SizeIs(1));
}

TEST(CounterWatch, ASourceThatFailsIsToldAndWhatItSaidGrowsOld) {
  const Place place;
  const auto watch = place.open();
  place.look(*watch, 0, 290);
  ASSERT_THAT(watch->warnings().ports, SizeIs(1));
  std::filesystem::remove(place.file);
  watch->look(kBegin + hours(290));
  EXPECT_THAT(watch->warnings().trouble, HasSubstr("counters.jsonl"));
  EXPECT_THAT(watch->warnings().ports, SizeIs(1));
  watch->look(kBegin + hours(295));
  EXPECT_THAT(watch->warnings().ports, IsEmpty()) << "older than two periods";
  place.print(296);
  watch->look(kBegin + hours(296));
  EXPECT_EQ(watch->warnings().trouble, "");
}

TEST(CounterWatch, AgentsAloneWarnWithinMinutes) {
  const Place place;
  const auto watch = place.open_for_agents();
  watch->look(kBegin);
  EXPECT_EQ(watch->warnings().at, Nanoseconds()) << "nothing was read yet";
  place.tell(*watch, "host1", 0, 5);
  place.tell(*watch, "host2", 0, 5);
  watch->look(kBegin + minutes(1));
  EXPECT_THAT(watch->warnings().ports, IsEmpty()) << "what was counted before is of no window";
  place.tell(*watch, "host1", 2, 5);
  place.tell(*watch, "host2", 2, 9);
  watch->look(kBegin + minutes(3));
  const auto found = watch->warnings();
  ASSERT_THAT(found.ports, SizeIs(1));
  EXPECT_EQ(found.ports[0].port, *place.fabric.find_nic("host2"));
  EXPECT_THAT(found.ports[0].source, HasSubstr("agent host2"));
  EXPECT_EQ(found.ports[0].errors, 4);
  EXPECT_EQ(found.at, kBegin + minutes(3));
  EXPECT_EQ(found.trouble, "");
}

TEST(CounterWatch, WhatAgentsToldIsKeptAlsoOfThoseThatDidNotTellAgain) {
  const Place place;
  const auto database = place.directory.path() / "watch.db";
  ASSERT_TRUE(store::WatchStore::open(database, place.fabric));
  {
    const auto watch = place.open_for_agents(database);
    for (const char* host : {"host1", "host2"}) place.tell(*watch, host, 10, 5);
    watch->look(kBegin + minutes(11));
  }
  const auto again = place.open_for_agents(database);
  place.tell(*again, "host1", 20, 8);
  again->look(kBegin + minutes(21));
  ASSERT_THAT(again->warnings().ports, SizeIs(1)) << "from before it was started again";
  auto stored = store::Database::open(database, store::Database::Access::read).value();
  const auto kept = store::kept_counter_readings(stored).value();
  ASSERT_THAT(kept, SizeIs(1));
  const auto& text = kept.begin()->second;
  EXPECT_THAT(text, HasSubstr("\"fcs_errors\":8"));
  EXPECT_THAT(text, HasSubstr("agent host2"));
  EXPECT_THAT(text, HasSubstr("\"celsius\":50.5"));
}

TEST(CounterWatch, TheNicsThatAgentsToldOfAreKeptAsTheyWereToldLast) {
  const Place place;
  const auto database = place.directory.path() / "watch.db";
  ASSERT_TRUE(store::WatchStore::open(database, place.fabric));
  const auto watch = place.open_for_agents(database);
  const auto nic = *place.fabric.find_nic("host1");
  const auto tell = [&](int minute, const char* firmware, const char* module) {
    watch->take({"agent host1", {{"10.0.0.1", nic}}},
                fmt::format("{{\"schema\":\"weft.counters/1\",\"agent\":\"0.9\"}}\n{{\"at\":\"{}\","
                            "\"port\":\"10.0.0.1\",\"interface\":\"eth2\",\"driver\":\"mlx5_core\","
                            "\"firmware\":\"{}\",\"pci\":\"0000:3b:00.0\",\"pci_id\":\"15b3:1021\","
                            "\"bits_per_second\":4e11{},\"counters\":{{\"frames_in\":{}}}}}\n",
                            instant_text(kBegin + minutes(minute)), firmware, module, minute));
    watch->look(kBegin + minutes(minute));
  };
  tell(1, "28.36", ",\"module\":{\"form\":\"OSFP\",\"part\":\"P1\",\"serial\":\"S1\"}");
  tell(2, "28.39", "");
  auto stored = store::Database::open(database, store::Database::Access::read).value();
  const auto kept = store::kept_reported_nics(stored).value();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0], (ReportedNic{.nic = place.fabric.name_of(nic),
                                  .host = "host1",
                                  .interface = "eth2",
                                  .driver = "mlx5_core",
                                  .firmware = "28.39",
                                  .pci = "0000:3b:00.0",
                                  .pci_id = "15b3:1021",
                                  .speed = Bandwidth::gbit(400),
                                  .module_part = "P1",
                                  .module_serial = "S1",
                                  .agent = "0.9",
                                  .told = kBegin + minutes(2)}))
      << "a module is read more seldom than the rest";
}

TEST(CounterWatch, AnAgentThatTellsNonsenseIsSaidAndMovesNobody) {
  const Place place;
  const auto watch = place.open_for_agents();
  const counters::HostPorts own{"agent host2", {{"10.0.0.1", *place.fabric.find_nic("host2")}}};
  for (const int minute : {0, 2}) {
    place.tell(*watch, "host1", minute, static_cast<std::uint64_t>(minute));
    watch->take(own, "{\"schema\":\"weft.counters/1\"}\n{\"port\":\"leaf1/p1\x1b[2J\",\"counters\":{}}\n");
    watch->look(kBegin + minutes(minute + 1));
  }
  const auto found = watch->warnings();
  EXPECT_THAT(found.trouble, HasSubstr("what an agent told of its NICs is of no use: agent host2"));
  EXPECT_TRUE(is_harmless(found.trouble)) << found.trouble;
  watch->look(kBegin + minutes(60));
  EXPECT_EQ(watch->warnings().trouble, found.trouble);
  watch->look(kBegin + minutes(70));
  EXPECT_EQ(watch->warnings().trouble, "");
  ASSERT_THAT(found.ports, SizeIs(1));
  EXPECT_EQ(found.ports[0].port, *place.fabric.find_nic("host1"));
}

TEST(CounterWatch, WhatWaitsOfAgentsIsBounded) {
  const Place place;
  const auto watch = place.open_for_agents();
  const std::string much(1'000'000, 'x');
  for (int host = 0; host < 200; ++host) watch->take({fmt::format("agent h{}", host), {}}, much);
  place.tell(*watch, "host1", 0, 5);  // a small one finds room
  watch->look(kBegin + minutes(1));
  place.tell(*watch, "host1", 2, 7);
  watch->look(kBegin + minutes(3));
  EXPECT_THAT(watch->warnings().ports, SizeIs(1));
}

TEST(CounterWatch, AgentsAreHeardWhileASourceFails) {
  const Place place;
  const auto watch = place.open();  // of a file that is not there
  place.tell(*watch, "host1", 0, 5);
  watch->look(kBegin + minutes(1));
  place.tell(*watch, "host1", 2, 7);
  watch->look(kBegin + minutes(3));
  EXPECT_THAT(watch->warnings().ports, SizeIs(1));
  EXPECT_THAT(watch->warnings().trouble, HasSubstr("counters.jsonl"));
}

}  // namespace
}  // namespace weft::cli
