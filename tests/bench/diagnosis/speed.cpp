// Speed and memory, on parsed input and of the reader; one core.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "tests/bench/diagnosis/special.hpp"
#include "topology/files/observation_json.hpp"
#include "topology/files/observation_lines.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

template <class Work>
double seconds(Work work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// The best of three: what the machine does besides is not this program's speed.
double diagnosing(const Fabric& fabric, const Observations& observations) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i)
    best = std::min(best, seconds([&] { (void)diagnosis::diagnose(fabric, observations); }));
  return best;
}

double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

}  // namespace

Speed measure_speed() {
  Speed speed;
  {
    const Fabric fabric = rails_24576();
    World world(fabric, {.probes = 750000}, 1);
    speed.seconds_24576_half = diagnosing(fabric, world.run().observations);
  }
  {
    const Fabric fabric = rails_24576();
    World world(fabric, {.probes = 1500000}, 1);
    speed.seconds_24576 = diagnosing(fabric, world.run().observations);
    speed.gb_24576 = peak_gb();  // observations and all
  }
  const Fabric fabric = fat_tree_k10();
  World world(fabric, {.probes = 100000}, 1);
  speed.seconds_k10 = diagnosing(fabric, world.run().observations);
  const std::string text = files::observation_lines(fabric, world.run().observations);
  double best = 1e9;
  for (int i = 0; i < 3; ++i)
    best = std::min(best, seconds([&] {
                      files::ObservationReader reader(fabric);
                      for (std::size_t at = 0; at < text.size(); at += 1 << 20)
                        reader.feed(std::string_view(text).substr(at, 1 << 20));
                      (void)std::move(reader).finish();
                    }));
  speed.read_lines_per_s = 100000 / best;
  return speed;
}

}  // namespace weft::bench
