// What stands in a database of weft, as steps from an empty file to the tables of today. A step that has been
// released never changes: a later one mends it.
#pragma once

#include <span>
#include <string_view>

#include "collectors/store/database.hpp"

namespace weft::store {

struct Schema {
  std::int64_t application;  // in the file's header: what it is
  std::string_view owner;    // whose command migrates it: "weft watch"
  std::span<const std::string_view> steps;
  /// The version that this program writes.
  std::int64_t newest() const { return static_cast<std::int64_t>(steps.size()); }
};
const Schema& watch_schema();
const Schema& ledger_schema();

/// Brings a database to `version`, step by step, each whole or not at all. Error: conflict, it is newer than
/// this program knows; invalid_input, it is a database of something else.
Result<void> migrate(Database& database, const Schema& schema, std::int64_t version);
inline Result<void> migrate(Database& database, const Schema& schema) {
  return migrate(database, schema, schema.newest());
}

/// For reading alone. Error: conflict, it is of another version (an older one: its owner migrates it).
Result<void> check_version(Database& database, const Schema& schema);

}  // namespace weft::store
