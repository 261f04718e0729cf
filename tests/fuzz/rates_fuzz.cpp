// Any bytes as a file of rates: what is accepted is written and read back the same, and a plan of it for a
// small fabric ends, whatever it says.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/reliability/learn.hpp"
#include "balancer/reliability/plan.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(reliability::parse_kept_plan(text, "plan"));
  const auto rates = files::parse_rates(text, "rates");
  if (!rates) return 0;
  const auto written = files::rates_text(*rates, {.generated_at = {}, .tool_version = "1"});
  const auto again = files::parse_rates(written, "rates");
  if (again && files::rates_text(*again, {.generated_at = {}, .tool_version = "1"}) != written) std::abort();
  static const auto plant =
      reliability::make_plant(*make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}), {}, 2);
  reliability::PlanRequest request;
  request.job.hosts = 3;
  request.histories = 40;
  request.length = Hours(24);
  // A search for bad readers, not for time: what makes many failures is refused elsewhere.
  if (!(reliability::HistorySource(plant, *rates).expected_failures(request.length) < 100)) return 0;
  const auto plan = reliability::make_plan(plant, *rates, request);
  if (!plan) return 0;
  if (!(plan->effective.mean >= 0 && plan->effective.mean <= 1)) std::abort();
  if (reliability::plan_html(*plan).find("<script") != std::string::npos) std::abort();
  static_cast<void>(reliability::plan_table(*plan, 80));
  return 0;
}
