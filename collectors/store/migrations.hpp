// What stands in a store's database, as steps from an empty file to the tables of today. A step that has been
// released never changes: a later one mends it.
#pragma once

#include "collectors/store/database.hpp"

namespace weft::store {

/// The version that this program writes: the number of steps.
std::int64_t newest_version();

/// Brings a database to `version`, step by step, each whole or not at all. Error: conflict, it is newer than
/// this program knows; invalid_input, it is a database of something else.
Result<void> migrate(Database& database, std::int64_t version = newest_version());

/// For reading alone. Error: conflict, it is of another version (older: 'weft watch' migrates it).
Result<void> check_version(Database& database);

}  // namespace weft::store
