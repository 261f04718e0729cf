#include "cli/trace_infiniband.hpp"

#include "cli/infiniband_reading.hpp"

namespace weft {

Result<InfinibandTrace> trace_infiniband(Mads& mads, const Fabric& fabric, const NicPair& pair,
                                         PathTable& table) {
  const auto reading = read_infiniband(mads, fabric);
  if (!reading) return pass_on(reading);
  const auto from = reading->match.found_nic[pair.src.value()];
  const auto to = reading->match.found_nic[pair.dst.value()];
  if (!from || !to)
    return fail(ErrorKind::not_found, "{} is not in the subnet: is its cable in?",
                fabric.name_of_nic(from ? pair.dst : pair.src));
  const auto lids = reading->tables.tables.lids_of(*to);
  if (!lids)
    return fail(ErrorKind::absent, "{} has no LID: does a subnet manager run?", fabric.name_of_nic(pair.dst));
  static const AddressBook kNoAddresses;
  InfinibandTrace trace{.learner = PathLearner(fabric, kNoAddresses, table), .labels = lids->count()};
  AdaptiveRoutes routes(reading->found.fabric, reading->tables.tables);
  for (std::uint32_t i = 0; i < lids->count(); ++i) {
    const Lid lid(static_cast<std::uint16_t>(lids->base.value() + i));
    if (const auto paths = expected_paths(routes.walk(*from, lid), reading->match))
      trace.learner.adopt(pair.src, pair.dst, PathLabel(lid.value()), *paths);
    else
      trace.without.emplace_back(lid, paths.error().message);
  }
  return trace;
}

}  // namespace weft
