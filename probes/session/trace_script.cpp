#include "probes/session/trace_script.hpp"

namespace weft {

TraceScript::TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options,
                         RunId run, TracePlan plan)
    : state_(fabric, addresses, options), stage_(state_, {std::move(plan)}) {
  state_.run = run;
}

}  // namespace weft
