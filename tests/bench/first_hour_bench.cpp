// The first hour of an operator with weft: `./bootstrap bench first_hour [--only NAME,...]`. Run in pieces,
// it keeps the figures of the earlier pieces.
#include "tests/bench/first_hour/pieces.hpp"

#include <array>

#include "tests/bench/support/pieces.hpp"

namespace weft::bench {
namespace {

constexpr auto kPieces = std::to_array<Piece>({
    {"packages", packages},
    {"cold_start", measure_cold_start},
    {"doctor_fleet", run_doctor_fleet},
    {"doctor_findings", run_doctor_findings},
    {"rows_over_80", rows_over_80},
    {"discovery", measure_discovery},
    {"discovery_time", measure_discovery_time},
});

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::run_pieces("first_hour", weft::bench::kPieces, argc, argv);
}
