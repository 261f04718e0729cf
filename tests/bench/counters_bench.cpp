// Counters beside probes: `./bootstrap bench counters [--only PIECE,...]`. Seeds are fixed.
#include "tests/bench/counters/pieces.hpp"

int main(int argc, char** argv) {
  constexpr weft::bench::Piece kPieces[] = {{"fused", weft::bench::counters::measure_fused},
                                            {"healthy", weft::bench::counters::measure_healthy},
                                            {"contradicted", weft::bench::counters::measure_contradicted},
                                            {"false_exporter", weft::bench::counters::measure_false_exporter},
                                            {"warn", weft::bench::counters::measure_warnings},
                                            {"pauses", weft::bench::counters::measure_pauses},
                                            {"repair", weft::bench::counters::measure_repair},
                                            {"tail", weft::bench::counters::measure_tails},
                                            {"captured", weft::bench::counters::measure_captured},
                                            {"server", weft::bench::counters::measure_server}};
  return weft::bench::run_pieces("counters", kPieces, argc, argv);
}
