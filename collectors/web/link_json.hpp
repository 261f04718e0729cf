// All that the page shows of one link.
#pragma once

#include <string>

#include "collectors/web/page_source.hpp"

namespace weft::web {

/// {"link","name","ends":[port,port],"rate","channels":[{"name","letter","sent","lost"},{...}],
///  "history":{"at":[ms],"length":[ms],"sent":[[a to b],[b to a]],"lost":[[...],[...]]},"range",
///  "incidents":[...],"paths":[{"src","dst","label","nodes":[...],"sent","lost"}]}
/// `history` and `incidents` are absent without a HistorySource; `paths_trouble` says why no path is told.
/// Error: what the HistorySource says.
Result<std::string> link_json(const PageFabric& page, const LiveView& view, LinkId link, TimeRange range);

}  // namespace weft::web
