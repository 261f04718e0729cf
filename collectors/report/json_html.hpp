// A JSON value as tables that people read: members of an object as rows, arrays of objects as a table of
// their own. Text is escaped. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::report {

/// At most 500 rows a table, 20 columns and six levels: beyond, the number of what is left out is told.
std::string json_html(const nlohmann::json& object);

}  // namespace weft::report
