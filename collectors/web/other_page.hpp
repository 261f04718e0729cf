// OtherPage: the live page of another watcher, whose fabric this page shows too: it asks for it there. What
// comes is passed on within bounds of size and time, two requests at once at most; a thread of its own asks
// every few seconds how that fabric is. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "collectors/web/page_routes.hpp"
#include "topology/base/result.hpp"

namespace weft::web {

/// `url`: http://HOST[:PORT][/]. Errors: usage (another form; a name that no path has).
Result<std::shared_ptr<Elsewhere>> other_page(const std::string& fabric, const std::string& url);

}  // namespace weft::web
