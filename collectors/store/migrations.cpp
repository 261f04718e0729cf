#include "collectors/store/migrations.hpp"

#include <array>

namespace weft::store {
namespace {

constexpr auto kWatchSteps = std::to_array<std::string_view>({
    // 1: the projection of the event stream.
    R"(
CREATE TABLE facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE events(
  sequence INTEGER PRIMARY KEY,   -- of the event stream
  incident INTEGER NOT NULL,
  at INTEGER NOT NULL,            -- ns since 1970, as all times here
  line TEXT NOT NULL);
CREATE INDEX events_by_incident ON events(incident, sequence);
CREATE INDEX events_by_time ON events(at);
CREATE TABLE incidents(
  id INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL,      -- of its last event
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  state TEXT NOT NULL,
  opened INTEGER,
  line TEXT NOT NULL);            -- its last event
CREATE INDEX incidents_by_time ON incidents(last_seen);
CREATE TABLE incident_places(     -- links and nodes that it names
  incident INTEGER NOT NULL,
  place TEXT NOT NULL,
  PRIMARY KEY(incident, place)) WITHOUT ROWID;
CREATE INDEX incident_places_by_place ON incident_places(place);
CREATE TABLE offences(            -- of a cable, kept when the incident itself is forgotten
  link TEXT NOT NULL,
  incident INTEGER NOT NULL,
  cause TEXT NOT NULL,
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  bad INTEGER NOT NULL,           -- ns in which it was seen
  times INTEGER NOT NULL,         -- 1 and how often it came back
  evidence TEXT NOT NULL,
  PRIMARY KEY(link, incident)) WITHOUT ROWID;
)",
    // 2: what is not in the event stream.
    R"(
CREATE TABLE hosts(
  host TEXT PRIMARY KEY,
  presence TEXT NOT NULL,
  since INTEGER NOT NULL,         -- of this presence
  windows INTEGER NOT NULL,
  gaps INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  stalled INTEGER NOT NULL,
  plan INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE plans(version INTEGER PRIMARY KEY, first_seen INTEGER NOT NULL);
CREATE TABLE mutes(
  target TEXT NOT NULL,
  begins INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  reason TEXT NOT NULL,
  who TEXT NOT NULL,
  PRIMARY KEY(target, begins)) WITHOUT ROWID;
CREATE TABLE layouts(             -- which channels a row of history has
  id INTEGER PRIMARY KEY,
  names TEXT NOT NULL);           -- in their order, a line each
CREATE TABLE history(
  resolution INTEGER NOT NULL,    -- seconds
  bucket INTEGER NOT NULL,        -- its begin, seconds since 1970
  layout INTEGER NOT NULL REFERENCES layouts(id),
  block INTEGER NOT NULL,         -- the thousand of channels
  data BLOB NOT NULL);
CREATE UNIQUE INDEX history_by_time ON history(resolution, bucket, layout, block);
)",
    // 3: mutes are on the bus alone, where all watchers read them.
    "DROP TABLE mutes;",
    // 4: what devices counted, for early warning.
    R"(
CREATE TABLE counter_readings(
  begin INTEGER PRIMARY KEY,      -- ns since 1970, of two hours
  lines TEXT NOT NULL);           -- weft.counters/1
)",
    // 5: the NICs that standing agents told of.
    R"(
CREATE TABLE nics(
  nic TEXT PRIMARY KEY,           -- its port in the fabric
  host TEXT NOT NULL,
  interface TEXT NOT NULL,
  driver TEXT NOT NULL,
  firmware TEXT NOT NULL,
  pci TEXT NOT NULL,
  pci_id TEXT NOT NULL,           -- vendor:device
  bits_per_second INTEGER,        -- of the link; null: it was down
  part TEXT NOT NULL,             -- of the module
  serial TEXT NOT NULL,
  agent TEXT NOT NULL,            -- version
  told INTEGER NOT NULL) WITHOUT ROWID;
)",
});

constexpr auto kLedgerSteps = std::to_array<std::string_view>({
    // 1
    R"(
CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries(
  id INTEGER PRIMARY KEY,
  line TEXT NOT NULL);            -- weft.blacklist/2
CREATE TABLE history(
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,            -- s since 1970, wall clock
  entry INTEGER,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  author TEXT NOT NULL);
CREATE INDEX history_by_entry ON history(entry, number);
)",
});

Result<std::int64_t> version_of(Database& database, const Schema& schema) {
  // The id last: another program may be making the database at this moment, in one step.
  WEFT_TRY(const auto version, database.number("PRAGMA user_version"));
  WEFT_TRY(const auto tables, database.number("SELECT count(*) FROM sqlite_master"));
  WEFT_TRY(const auto id, database.number("PRAGMA application_id"));
  const bool empty = id == 0 && version == 0 && tables == 0;
  if (id != schema.application && !empty)
    return fail(ErrorKind::invalid_input, "{}: it is a database of another program, not of '{}'",
                database.path().string(), schema.owner);
  if (version > schema.newest())
    return fail(ErrorKind::conflict,
                "{}: it is of version {}, and this weft knows version {}: use the newer weft that wrote it",
                database.path().string(), version, schema.newest());
  return version;
}

}  // namespace

const Schema& watch_schema() {
  static constexpr Schema schema{0x77656674, "weft watch", kWatchSteps};  // "weft"
  return schema;
}

const Schema& ledger_schema() {
  static constexpr Schema schema{0x77666262, "weft blacklist", kLedgerSteps};  // "wfbl"
  return schema;
}

Result<void> migrate(Database& database, const Schema& schema, std::int64_t version) {
  WEFT_TRY(auto at, version_of(database, schema));
  for (; at < version; ++at) {
    const auto done = database.in_transaction([&]() -> Result<void> {
      WEFT_TRY(const auto made, database.number("PRAGMA user_version"));
      if (made > at) return {};  // by another program meanwhile
      WEFT_TRY_VOID(database.run(fmt::format("PRAGMA application_id={}", schema.application)));
      WEFT_TRY_VOID(database.run(schema.steps[static_cast<std::size_t>(at)]));
      return database.run(fmt::format("PRAGMA user_version={}", at + 1));
    });
    if (!done) return done;
  }
  return {};
}

Result<void> check_version(Database& database, const Schema& schema) {
  WEFT_TRY(const auto version, version_of(database, schema));
  if (version == 0)
    return fail(ErrorKind::invalid_input, "{}: nothing was ever written there: '{}' makes such a database",
                database.path().string(), schema.owner);
  if (version < schema.newest())
    return fail(ErrorKind::conflict,
                "{}: it is of version {}, and this weft reads version {}: '{}' migrates it",
                database.path().string(), version, schema.newest(), schema.owner);
  return {};
}

}  // namespace weft::store
