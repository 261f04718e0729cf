// The mutes that all watchers of a fabric share, as the live page and `weft mute` change them.
#include "cli/mute_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "probes/run/watch_run.hpp"
#include "tests/fakes/fake_watch_bus.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Muted {
  Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  weft::fakes::FakeWatchBus bus;
  PageMutes page{fabric};

  Muted() { page.use(values()); }
  std::shared_ptr<watch::SharedValue> values() { return bus.values(); }
  /// As the watcher reads it.
  Mutes stored() {
    return files::parse_mutes(fabric, values()->get(run::kMutesKey)->text, "mutes").value().mutes;
  }
};

web::MuteWish wish(std::string place, Nanoseconds after = {}) {
  return {.place = std::move(place), .after = after, .length = 1h, .reason = "new optics", .who = "anna"};
}

TEST(PageMutes, AreThoseThatTheWatcherReads) {
  Muted muted;
  ASSERT_TRUE(muted.page.add(wish("leaf1/p6--spine2/p1")));
  ASSERT_TRUE(muted.page.add(wish("leaf3", 30min)));
  const auto stored = muted.stored();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].target, MuteTarget(muted.fabric.find_link("leaf1--spine2").value()));
  EXPECT_EQ(stored[0].until - stored[0].from, 1h);
  EXPECT_EQ(stored[0].who, "anna");
  EXPECT_NEAR(double((stored[1].from - stored[0].from) / 1s), 1800, 60);
  const auto standing = muted.page.mutes().value();
  EXPECT_EQ(standing.at(0).place, "leaf1--spine2");
  EXPECT_EQ(standing.at(1).reason, "new optics");
}

TEST(PageMutes, AreRemovedByTheirPlaceAndOthersStay) {
  Muted muted;
  ASSERT_TRUE(muted.page.add(wish("leaf1--spine2")));
  ASSERT_TRUE(muted.page.add(wish("leaf1")));
  ASSERT_TRUE(muted.page.remove("spine2/p1--leaf1/p6"));
  ASSERT_EQ(muted.stored().size(), 1u);
  EXPECT_EQ(muted.page.remove("leaf1--spine2").error().kind, ErrorKind::not_found);
  EXPECT_EQ(muted.page.remove("leaf9").error().kind, ErrorKind::not_found);
  EXPECT_EQ(muted.page.add(wish("leaf9")).error().kind, ErrorKind::not_found);
  EXPECT_EQ(muted.stored().size(), 1u);
}

TEST(PageMutes, SayThatTheBusIsNotThere) {
  Muted muted;
  PageMutes early(muted.fabric);
  EXPECT_THAT(early.mutes().error().message, HasSubstr("has not reached its bus yet"));
  EXPECT_FALSE(early.add(wish("leaf1")));
  muted.bus.set_away(true);
  EXPECT_FALSE(muted.page.add(wish("leaf1")));
  EXPECT_FALSE(muted.page.mutes());
}

/// Somebody else writes between reading and writing, so many times.
class Contended final : public watch::SharedValue {
 public:
  Contended(std::shared_ptr<watch::SharedValue> values, std::string other, int times)
      : values_(std::move(values)), other_(std::move(other)), times_(times) {}
  Result<Stored> get(std::string_view key) override {
    auto stored = values_->get(key);
    if (stored && times_-- > 0) {
      EXPECT_TRUE(values_->put(key, stored->revision, other_));
    }
    return stored;
  }
  Result<std::uint64_t> put(std::string_view key, std::uint64_t revision, std::string_view text) override {
    return values_->put(key, revision, text);
  }

 private:
  std::shared_ptr<watch::SharedValue> values_;
  std::string other_;
  int times_;
};

TEST(MuteList, KeepsWhatOthersWroteMeanwhile) {
  Muted muted;
  ASSERT_TRUE(muted.page.add(wish("leaf4")));
  const std::string others = muted.values()->get(run::kMutesKey)->text;
  PageMutes page(muted.fabric);
  page.use(std::make_shared<Contended>(muted.values(), others, 2));
  ASSERT_TRUE(page.add(wish("leaf1")));
  EXPECT_EQ(muted.stored().size(), 2u);
  page.use(std::make_shared<Contended>(muted.values(), others, 100));
  EXPECT_EQ(page.add(wish("leaf2")).error().kind, ErrorKind::conflict);
}

TEST(MuteList, IsBounded) {
  Muted muted;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Fabric wide = make_clos({.leaves = 16, .spines = 16, .hosts_per_leaf = 64}).value();
  Mutes many;
  for (std::uint32_t l = 0; l < 1000; ++l) many.push_back({LinkId(l), now, now + 1h, "x", "y"});
  ASSERT_TRUE(muted.values()->put(run::kMutesKey, 0, files::mutes_text(wide, many)));
  const MuteList list(wide, muted.values());
  EXPECT_EQ(list.add({LinkId(1000), now, now + 1h, "x", "y"}).error().kind, ErrorKind::conflict);
  ASSERT_TRUE(list.remove(LinkId(7)).value());
  EXPECT_TRUE(list.add({LinkId(1000), now, now + 1h, "x", "y"}));
}

}  // namespace
}  // namespace weft::cli
