// Standing agents and their watcher: `./bootstrap bench watch [--only NAME,...]`. Run in pieces, it keeps the
// figures of the earlier pieces.
#include "tests/bench/watch/pieces.hpp"

#include <array>

#include "tests/bench/support/pieces.hpp"

namespace weft::bench {
namespace {

constexpr auto kPieces = std::to_array<Piece>({
    {"ingest", measure_ingest},
    {"detection", measure_detection},
    {"incident_histories", measure_incident_histories},
    {"false_incidents", count_false_incidents},
    {"look_24576", measure_look_24576},
    {"agent", measure_agent},
    {"bus", measure_bus},
    {"takeover", measure_takeover},
    {"page_24576", measure_page_24576},
    {"detection_24576", measure_detection_24576},
    {"watch_24576", measure_watch_24576},
    {"lab_down", measure_lab_down},
    {"lab_loss1", measure_lab_loss1},
    {"lab_loss01", measure_lab_loss01},
    {"false_incidents_lab", count_false_incidents_lab},
    {"store_400d", measure_store_400d},
    {"metrics_24576", measure_metrics_24576},
});

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::run_pieces("watch", weft::bench::kPieces, argc, argv); }
