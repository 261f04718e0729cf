#include "collectors/store/watch_store.hpp"

#include "collectors/store/migrations.hpp"

namespace weft::store {
namespace {

constexpr std::string_view kFabric = "fabric";

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

Result<std::string> fabric_of(Database& database) {
  std::string name;
  const auto done = database.query("SELECT value FROM facts WHERE name=?", {std::string(kFabric)},
                                   [&](const Row& row) -> Result<void> {
                                     name = row.text(0);
                                     return {};
                                   });
  if (!done) return pass_on(done);
  return name;
}

}  // namespace

Result<WatchStore> WatchStore::open(const std::filesystem::path& path, const Fabric& fabric) {
  WEFT_TRY(auto database, Database::open(path, Database::Access::write));
  WEFT_TRY_VOID(migrate(database, watch_schema()));
  WEFT_TRY(const auto owner, fabric_of(database));
  if (owner.empty()) {
    WEFT_TRY_VOID(database.execute("INSERT INTO facts(name, value) VALUES(?,?)",
                                   {std::string(kFabric), fabric.name()}));
  } else if (owner != fabric.name()) {
    return fail(ErrorKind::conflict,
                "{}: it is of the fabric '{}', not of '{}': each fabric needs a file of its own",
                path.string(), owner, fabric.name());
  }
  WEFT_TRY(const auto layout, layout_of(database, fabric));
  return WatchStore(std::move(database), fabric, layout);
}

Result<WatchStore::Standing> WatchStore::standing() {
  WEFT_TRY(const auto all, incidents(database_, {}));
  Standing standing;
  for (const auto& report : all) {
    const auto state = report.incident.state;
    if (state == IncidentState::closed || state == IncidentState::dismissed) continue;
    if (auto event = event_of(*fabric_, report))
      standing.events.push_back(std::move(*event));
    else
      standing.unknown.push_back(
          fmt::format("incident {}: {}", report.incident.id.value(), event.error().message));
  }
  return standing;
}

Result<void> WatchStore::note(const watch::WatchState& state) {
  const auto ended = recorder_.take(state);
  if (!ended) return {};
  WEFT_TRY_VOID(record(database_, layout_, *ended));
  WEFT_TRY_VOID(keep_hosts(state));
  if (state.plan != watch::PlanVersion())
    WEFT_TRY_VOID(database_.execute("INSERT OR IGNORE INTO plans(version, first_seen) VALUES(?,?)",
                                    {std::int64_t{state.plan.value()}, state.at.count()}));
  WEFT_TRY_VOID(roll_up(database_, std::chrono::floor<Seconds>(state.at)));
  return forget_events(database_, state.at - kResolutions.back().kept);
}

Result<void> WatchStore::keep_hosts(const watch::WatchState& state) {
  const bool first = agents_.size() != state.agents.size();
  const auto done = database_.in_transaction([&]() -> Result<void> {
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

Result<void> WatchStore::keep_mutes(const Mutes& mutes) {
  return database_.in_transaction([&]() -> Result<void> {
    for (const Mute& mute : mutes)
      WEFT_TRY_VOID(database_.execute(
          "INSERT OR REPLACE INTO mutes(target, begins, ends, reason, who) VALUES(?,?,?,?,?)",
          {name_of(*fabric_, mute.target), mute.from.count(), mute.until.count(), mute.reason, mute.who}));
    return {};
  });
}

Result<OpenedStore> open_to_read(const std::filesystem::path& path) {
  WEFT_TRY(auto database, Database::open(path, Database::Access::read));
  WEFT_TRY_VOID(check_version(database, watch_schema()));
  WEFT_TRY(auto fabric, fabric_of(database));
  return OpenedStore{std::move(database), std::move(fabric)};
}

Result<void> back_up(const std::filesystem::path& from, const std::filesystem::path& to) {
  WEFT_TRY(auto opened, open_to_read(from));
  return opened.database.back_up(to);
}

}  // namespace weft::store
