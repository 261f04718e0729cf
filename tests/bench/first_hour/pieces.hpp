// The pieces of `./bootstrap bench first_hour`; each adds its figures.
#pragma once

#include <filesystem>
#include <optional>

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void packages(Figures& figures);
/// weft_VERSION_amd64.deb, made now; absent: it cannot be made, which is said.
std::optional<std::filesystem::path> debian_package();
/// From the first command on the head to the verdict of a sweep: 16 hosts of a lab, reached by ssh alone.
void measure_cold_start(Figures& figures);
/// 3,072 hosts asked, simulated and by processes.
void run_doctor_fleet(Figures& figures);
/// Each trouble put in alone.
void run_doctor_findings(Figures& figures);
/// Rows of all tables and help pages that are wider than 80 columns.
void rows_over_80(Figures& figures);
void measure_discovery(Figures& figures);
void measure_discovery_time(Figures& figures);

}  // namespace weft::bench
