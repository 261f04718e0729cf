// The `counters` of a fabric file: where counters of its ports are read from (docs/counters.md).
#pragma once

#include "topology/files/yaml_tree.hpp"
#include "topology/model/counter_sources.hpp"

namespace weft::files {

using weft::CounterSources;

/// `where`: a map of {prometheus, preset, switch, port, match, rename, metrics, window, exec}. Errors name
/// the line.
Result<CounterSources> read_counter_sources(YamlView where);

}  // namespace weft::files
