#include "collectors/store/ledger_store.hpp"

#include <map>

#include "balancer/blacklist/ledger_json.hpp"
#include "collectors/store/migrations.hpp"

namespace weft::store {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::Ledger;
using blacklist::Stepped;

constexpr std::string_view kIfLedgerDamaged =
    "Give --ledger the file of this blacklist, or put a backup in its place; without one move the file away: "
    "marks that stand at targets are then unknown to the new ledger (weft blacklist check names them)";

SqlValue number_of(EntryId id) { return static_cast<std::int64_t>(id.value()); }

std::map<EntryId, const Entry*> by_id(const Ledger& ledger) {
  std::map<EntryId, const Entry*> entries;
  for (const Entry& entry : ledger.entries) entries.emplace(entry.id, &entry);
  return entries;
}

}  // namespace

Result<LedgerStore> LedgerStore::open(const std::filesystem::path& path, const std::string& fabric,
                                      Database::Access access) {
  WEFT_TRY(auto database, Database::open(path, access, kIfLedgerDamaged));
  if (access == Database::Access::write) {
    WEFT_TRY_VOID(migrate(database, ledger_schema()));
  } else {
    WEFT_TRY_VOID(check_version(database, ledger_schema()));
  }
  LedgerStore store(std::move(database));
  // One that is there is not written to: of others who write all the time none would get through.
  WEFT_TRY(const auto there, store.database_.number("SELECT count(*) FROM facts WHERE name='ledger'"));
  if (access == Database::Access::write && there == 0)
    WEFT_TRY_VOID(store.database_.execute(
        "INSERT OR IGNORE INTO facts(name, value) VALUES('ledger', ?)",
        {blacklist::ledger_line(
            {.fabric = fabric, .entries = {}, .last = {}, .told_until = {}, .drained = {}})}));
  WEFT_TRY(const auto ledger, store.read());
  if (ledger.fabric != fabric)
    return fail(ErrorKind::conflict,
                "{}: it is of the fabric '{}', not of '{}': each fabric needs a file of its own",
                path.string(), ledger.fabric, fabric);
  return store;
}

Result<Ledger> LedgerStore::read() {
  const auto what = database_.path().string();
  Ledger ledger;
  const auto facts =
      database_.query("SELECT value FROM facts WHERE name='ledger'", {}, [&](const Row& row) -> Result<void> {
        WEFT_TRY(ledger, blacklist::parse_ledger_line(row.text(0), what));
        return {};
      });
  if (!facts) return pass_on(facts);
  const auto entries =
      database_.query("SELECT line FROM entries ORDER BY id", {}, [&](const Row& row) -> Result<void> {
        WEFT_TRY(auto read, blacklist::parse_entry_line(row.text(0), what));
        ledger.entries.push_back(std::move(read.entry));
        return {};
      });
  if (!entries) return pass_on(entries);
  return ledger;
}

Result<Stepped> LedgerStore::change(UtcTime now, const std::function<Result<Stepped>(Ledger)>& step) {
  std::optional<Stepped> stepped;
  const auto done = database_.in_transaction([&]() -> Result<void> {
    WEFT_TRY(const auto place, shared());
    if (place)
      return fail(ErrorKind::usage,
                  "{}: it is a copy of a blacklist that machines share: give --credential to change that, or "
                  "make the file this machine's own (weft blacklist unshare)",
                  database_.path().string());
    WEFT_TRY(const auto before, read());
    WEFT_TRY(stepped, step(before));
    WEFT_TRY_VOID(add_events(now, stepped->events));
    return write(before, stepped->ledger);
  });
  if (!done) return pass_on(done);
  return std::move(*stepped);
}

Result<void> LedgerStore::add_events(UtcTime at, const std::vector<blacklist::LedgerEvent>& events) {
  for (const blacklist::LedgerEvent& event : events)
    WEFT_TRY_VOID(
        database_.execute("INSERT INTO history(at, entry, kind, text, author) VALUES(?,?,?,?,?)",
                          {at.time_since_epoch().count(), event.entry ? number_of(*event.entry) : SqlValue(),
                           std::string(to_string(event.kind)), event.text, event.author}));
  return {};
}

Result<std::optional<SharedPlace>> LedgerStore::shared() {
  std::optional<SharedPlace> shared;
  const auto read = database_.query(
      "SELECT json_extract(value,'$.chain'), json_extract(value,'$.change'), json_extract(value,'$.number'), "
      "json_extract(value,'$.sequence'), json_extract(value,'$.last_whole') FROM facts WHERE name='shared'",
      {}, [&](const Row& row) -> Result<void> {
        const auto number = [&](int column) { return static_cast<std::uint64_t>(row.integer(column)); };
        shared = {{row.text(0), row.text(1), number(2)}, number(3), number(4)};
        return {};
      });
  if (!read) return pass_on(read);
  return shared;
}

Result<void> LedgerStore::set_shared(const std::optional<SharedPlace>& shared) {
  if (!shared) return database_.execute("DELETE FROM facts WHERE name='shared'");
  const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  return database_.execute(
      "INSERT OR REPLACE INTO facts(name, value) VALUES('shared', json_object('chain', ?, 'change', ?, "
      "'number', ?, 'sequence', ?, 'last_whole', ?))",
      {shared->place.chain, shared->place.change, number(shared->place.number), number(shared->sequence),
       number(shared->last_whole)});
}

Result<void> LedgerStore::take_over(const blacklist::LedgerChange& change, std::uint64_t sequence) {
  WEFT_TRY(const auto at, shared());
  WEFT_TRY(const auto before, read());
  WEFT_TRY_VOID(add_events(change.at, change.events));
  WEFT_TRY_VOID(write(before, with_change(before, change)));
  const auto whole = change.whole ? change.place.number : at ? at->last_whole : 0;
  return set_shared(SharedPlace{change.place, sequence, whole});
}

Result<void> LedgerStore::write(const Ledger& before, const Ledger& after) {
  const auto old = by_id(before), current = by_id(after);
  for (const auto& [id, entry] : old)
    if (!current.contains(id))
      WEFT_TRY_VOID(database_.execute("DELETE FROM entries WHERE id=?", {number_of(id)}));
  for (const auto& [id, entry] : current) {
    const auto known = old.find(id);
    if (known != old.end() && *known->second == *entry) continue;
    WEFT_TRY_VOID(database_.execute("INSERT OR REPLACE INTO entries(id, line) VALUES(?,?)",
                                    {number_of(id), blacklist::entry_line(after.fabric, *entry)}));
  }
  return database_.execute("UPDATE facts SET value=? WHERE name='ledger'", {blacklist::ledger_line(after)});
}

Result<std::vector<LedgerLine>> LedgerStore::history(std::optional<EntryId> entry, std::size_t most) {
  std::vector<LedgerLine> lines;
  const auto done = database_.query(
      "SELECT at, entry, kind, text, author FROM (SELECT * FROM history WHERE ?1 IS NULL OR entry=?1 "
      "ORDER BY number DESC LIMIT ?2) ORDER BY number",
      {entry ? number_of(*entry) : SqlValue(), static_cast<std::int64_t>(most)},
      [&](const Row& row) -> Result<void> {
        const auto kind = blacklist::parse_event_kind(row.text(2));
        if (!kind)
          return fail(ErrorKind::invalid_input, "{}: no such event: {}", database_.path().string(),
                      row.text(2));
        const auto id = row.is_null(1) ? std::nullopt
                                       : std::optional(EntryId(static_cast<std::uint64_t>(row.integer(1))));
        lines.push_back(
            {UtcTime(std::chrono::seconds(row.integer(0))), {*kind, id, row.text(3), row.text(4)}});
        return {};
      });
  if (!done) return pass_on(done);
  return lines;
}

}  // namespace weft::store
