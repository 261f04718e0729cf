// What to mend about the cables that a diagnosis names, from the counters that were read beside it.
#pragma once

#include "collectors/counters/counter_series.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::cli {

/// Adds it to findings of cables that lose packets or count errors, where both directions are not alike.
/// Nothing where no sign of the cable's ports is other than usual.
void add_repair_advice(const Fabric& fabric, counters::CounterTable& table,
                       files::DiagnosisDocument& document);

}  // namespace weft::cli
