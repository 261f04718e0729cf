// Whatever the bytes: lines are used or counted as broken, what was used is written and read back the same,
// and the diagnosis of it ends.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/diagnosis/diagnose.hpp"
#include "topology/files/observation_json.hpp"
#include "topology/files/observation_lines.hpp"
#include "topology/model/clos.hpp"

namespace {

weft::files::ReadObservations read(const weft::Fabric& fabric, std::string_view text) {
  weft::files::ObservationReader reader(fabric);
  reader.feed(text.substr(0, text.size() / 2));
  reader.feed(text.substr(text.size() / 2));
  return std::move(reader).finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::Fabric fabric = *weft::make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto first = read(fabric, {reinterpret_cast<const char*>(data), size});
  const std::string written = weft::files::observation_lines(fabric, first.observations);
  const auto second = read(fabric, written);
  if (second.broken > 0 || second.repeated > 0 ||
      weft::files::observation_lines(fabric, second.observations) != written)
    std::abort();
  const weft::diagnosis::Assessment assessment = weft::diagnosis::assess(fabric, first.observations);
  for (const auto& finding : assessment.diagnosis.links)
    if (!(finding.confidence >= 0 && finding.confidence <= 1)) std::abort();
  return 0;
}
