// The live page of 24,576 NICs in a headless browser: from the address to the drawn fabric, and all that is
// loaded for it.
#include <algorithm>

#include "collectors/web/page_server.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "tests/fakes/fake_watched.hpp"
#include "tests/support/browser.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

constexpr int kLoads = 5;

/// Bytes on the wire, with headers, of the page and of all that it asked for; of the same, unpacked.
constexpr const char* kBytes = R"(
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const sum = (of) => all.reduce((total, entry) => total + entry[of], 0);
  return [sum('transferSize'), sum('decodedBodySize')];)";

}  // namespace

void measure_page_24576(Figures& figures) {
  if (!Browser::is_there()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  FakeWatched watched(
      std::make_shared<const Fabric>(
          make_pod_clos(
              {.name = "hall", .pods = 24, .leaves = 32, .spines = 32, .cores = 1024, .hosts_per_leaf = 32})
              .value()),
      std::chrono::duration_cast<Nanoseconds>(now));
  const auto since = watched.now() - std::chrono::minutes(5);
  for (const char* channel : {"leaf100->spine100", "spine700->core870", "host20000->leaf625"})
    watched.fault(channel, 0.012, since);
  std::vector<double> loads;
  std::vector<double> bytes;
  for (int i = 0; i < kLoads; ++i) {
    const auto server =
        web::PageServer::start({}, {.fabrics = {watched.page()}}).value();  // nothing is made yet
    const auto browser = Browser::start().value();                          // nothing is kept yet
    if (!browser->open(server->url())) return;
    if (!browser->waits_for("return document.body.dataset.ready === 'hall/overview'")) return;
    loads.push_back(browser->script("return weftPage.drawnAt").get<double>());
    bytes = browser->script(kBytes).get<std::vector<double>>();
  }
  std::ranges::sort(loads);
  figures.add("page_24576_first_ms", loads[kLoads / 2], "at most 2,000");
  figures.add("page_24576_kb", bytes.at(0) / 1000, "at most 500");
  figures.add("page_24576_unpacked_kb", bytes.at(1) / 1000);
}

}  // namespace weft::bench
