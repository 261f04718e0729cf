// The pieces of `./bootstrap bench first_hour`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void packages(Figures& figures);
/// 3,072 hosts asked, simulated and by processes.
void run_doctor_fleet(Figures& figures);
/// Each trouble put in alone.
void run_doctor_findings(Figures& figures);
/// Rows of all tables and help pages that are wider than 80 columns.
void rows_over_80(Figures& figures);
void measure_discovery(Figures& figures);
void measure_discovery_time(Figures& figures);

}  // namespace weft::bench
