// Whatever the bytes, as a document of a comparison: an error that may be shown, or a comparison that is
// written and read back the same, and has a report with no script but its own.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectors/report/comparison_document.hpp"
#include "collectors/web/report_page.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Fabric fabric =
      make_clos({.name = "site", .leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  const auto read = report::parse_comparison(text, "fuzz");
  if (!read) return is_harmless(read.error().message) ? 0 : (std::abort(), 0);
  const auto written = report::comparison_json(read->runs(), {.tool_version = "fuzz"});
  const auto again = report::parse_comparison(written, "written");
  if (!again || report::comparison_json(again->runs(), {.tool_version = "fuzz"}) != written) std::abort();
  for (const auto& fabrics : {std::vector<const Fabric*>(), std::vector{&fabric}}) {
    const auto page = web::report_page(text, "fuzz", fabrics);
    if (!page && (fabrics.empty() || !is_harmless(page.error().message))) std::abort();
    if (!page) continue;
    if (outside_text(*page, LineBreaks::kept) != *page) std::abort();
    std::size_t scripts = 0;
    for (auto at = page->find("<script"); at != std::string::npos; at = page->find("<script", at + 1))
      ++scripts;
    if (scripts != 2) std::abort();  // the values and what draws them
  }
  return 0;
}
