#include "collectors/store/watch_store.hpp"

#include "collectors/store/migrations.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::store {
namespace {

constexpr std::string_view kFabric = "fabric", kFabricFile = "fabric file";
constexpr std::size_t kMaxWaiting = 10'000;
constexpr std::string_view kIfDamaged =
    "Move it away, or put a backup in its place; a watcher then makes its incidents anew from the event "
    "stream (the history of channels since the backup is lost)";

SqlValue count(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::string_view word_for(watch::AgentPresence presence) {
  switch (presence) {
    case watch::AgentPresence::never_seen:
      return "never seen";
    case watch::AgentPresence::present:
      return "present";
    case watch::AgentPresence::silent:
      return "silent";
    case watch::AgentPresence::gone_planned:
      return "gone";
  }
  return "";
}

/// Windows come each second: they alone are no reason to write.
bool same_but_windows(watch::AgentState a, const watch::AgentState& b) {
  a.windows = b.windows, a.lag = b.lag;
  return a == b;
}

/// Empty: nothing is kept under that name.
Result<std::string> fact(Database& database, std::string_view name) {
  std::string value;
  const auto done = database.query("SELECT value FROM facts WHERE name=?", {std::string(name)},
                                   [&](const Row& row) -> Result<void> {
                                     value = row.text(0);
                                     return {};
                                   });
  if (!done) return pass_on(done);
  return value;
}

}  // namespace

Result<WatchStore> WatchStore::open(const std::filesystem::path& path, const Fabric& fabric) {
  WEFT_TRY(auto database, Database::open(path, Database::Access::write, kIfDamaged));
  WEFT_TRY_VOID(migrate(database, watch_schema()));
  WEFT_TRY(const auto owner, fact(database, kFabric));
  if (owner.empty()) {
    WEFT_TRY_VOID(database.execute("INSERT INTO facts(name, value) VALUES(?,?)",
                                   {std::string(kFabric), fabric.name()}));
  } else if (owner != fabric.name()) {
    return fail(ErrorKind::conflict,
                "{}: it is of the fabric '{}', not of '{}': each fabric needs a file of its own",
                path.string(), owner, fabric.name());
  }
  WEFT_TRY_VOID(database.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?,?)",
                                 {std::string(kFabricFile), files::write_fabric_file(fabric)}));
  WEFT_TRY(const auto layout, layout_of(database, fabric));
  return WatchStore(std::move(database), fabric, layout);
}

Result<Applied> WatchStore::apply(std::span<const watch::StoredEvent> events) {
  if (!is_behind_) waiting_.insert(waiting_.end(), events.begin(), events.end());
  if (waiting_.empty()) return Applied();
  auto applied = apply_events(database_, waiting_);
  if (applied) {
    waiting_.clear();
  } else if (waiting_.size() > kMaxWaiting) {
    waiting_.resize(kMaxWaiting);
    is_behind_ = true;  // one after them would make the file think that it had those between
  }
  return applied;
}

Result<bool> WatchStore::note(const watch::WatchState& state) {
  const auto ended = recorder_.take(state);
  if (!ended) return false;
  WEFT_TRY_VOID(record(database_, layout_, *ended));
  WEFT_TRY_VOID(keep_hosts(state));
  if (state.plan != watch::PlanVersion())
    WEFT_TRY_VOID(database_.execute("INSERT OR IGNORE INTO plans(version, first_seen) VALUES(?,?)",
                                    {std::int64_t{state.plan.value()}, state.at.count()}));
  WEFT_TRY_VOID(roll_up(database_, std::chrono::floor<Seconds>(state.at)));
  WEFT_TRY_VOID(forget_events(database_, state.at - kResolutions.back().kept));
  return true;
}

Result<void> WatchStore::keep_hosts(const watch::WatchState& state) {
  const bool first = agents_.size() != state.agents.size();
  const auto done = database_.in_transaction([&]() -> Result<void> {
    if (state.active) WEFT_TRY_VOID(note_watched(database_, state.at));
    for (std::size_t i = 0; i < state.agents.size(); ++i) {
      const auto& agent = state.agents[i];
      if (!first && same_but_windows(agent, agents_[i])) continue;
      WEFT_TRY_VOID(
          database_.execute("INSERT INTO hosts(host, presence, since, windows, gaps, refused, stalled, plan) "
                            "VALUES(?1,?2,?3,?4,?5,?6,?7,?8) "
                            "ON CONFLICT(host) DO UPDATE SET since=iif(presence=?2, since, ?3), presence=?2, "
                            "windows=?4, gaps=?5, "
                            "refused=?6, stalled=?7, plan=?8",
                            {fabric_->name_of(agent.host), std::string(word_for(agent.presence)),
                             state.at.count(), count(agent.windows), count(agent.gaps), count(agent.refused),
                             count(agent.stalled), std::int64_t{agent.plan.value()}}));
    }
    return {};
  });
  if (done) agents_ = state.agents;
  return done;
}

Result<OpenedStore> open_to_read(const std::filesystem::path& path) {
  WEFT_TRY(auto database, Database::open(path, Database::Access::read, kIfDamaged));
  WEFT_TRY_VOID(check_version(database, watch_schema()));
  WEFT_TRY(auto fabric, fact(database, kFabric));
  return OpenedStore{std::move(database), std::move(fabric)};
}

Result<std::string> kept_fabric_file(Database& database) { return fact(database, kFabricFile); }

Result<void> back_up(const std::filesystem::path& from, const std::filesystem::path& to) {
  WEFT_TRY(auto opened, open_to_read(from));
  return opened.database.back_up(to);
}

}  // namespace weft::store
