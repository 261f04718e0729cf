// What a watch knows of counters: read again and again, kept, told, and told to be old.
#include "cli/counter_watch.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "collectors/counters/port_warnings.hpp"
#include "collectors/store/migrations.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/base/instant.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using std::chrono::hours;
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

}  // namespace
}  // namespace weft::cli
