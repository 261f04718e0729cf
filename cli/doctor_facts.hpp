// What this host tells `weft doctor`: for the command itself, and as the answer of a host that is asked.
#pragma once

#include "topology/base/result.hpp"
#include "topology/host/host_facts_reader.hpp"

namespace weft::cli {

/// `question` with what this program knows of itself.
Result<HostFacts> read_own_facts(host::FactsQuestion question);

}  // namespace weft::cli
