#pragma GCC diagnostic ignored "-Wconversion"
#include <fmt/format.h>
#include <chrono>
#include <cstdlib>
#include <string>
#include "tests/bench/diagnosis/score.hpp"
using namespace weft; using namespace weft::bench;
int main(int argc, char** argv) {
  std::size_t seeds = argc>1?std::stoul(argv[1]):20; std::string only = argc>2?argv[2]:""; std::uint64_t base = argc>3?std::stoul(argv[3]):100000;
  Fabric k10 = fat_tree_k10();
  struct S{std::string name; Scenario s;};
  std::vector<S> all{{"mid",{}},{"low",{.probes=100000,.least_loss=.001,.most_loss=.002}},{"limit",{.least_loss=.001,.most_loss=.002}},
   {"pareto",{.sizes={56,1.05,10000}}},
   {"h25k",{.most_faults=0}},{"h100k",{.probes=100000,.most_faults=0}},{"h1M",{.probes=1000000,.most_faults=0}},{"hpareto",{.sizes={56,1.05,10000},.most_faults=0}},
   {"hzero",{.most_faults=0,.background=0,.stray=20}},{"hten",{.most_faults=0,.background=1e-3}},{"hten100k",{.probes=100000,.most_faults=0,.background=1e-3}}};
  for (auto& [name,s]:all) { if(!only.empty()&&(","+only+",").find(","+name+",")==std::string::npos) continue;
    Score score; double secs=0,worst=0;
    for (std::size_t i=0;i<seeds;++i){ World w(k10,s,base+i); 
      auto t0=std::chrono::steady_clock::now(); auto d=diagnose(k10,w.run().observations); double t=std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count(); secs+=t; worst=std::max(worst,t);
      score.add(w.run(),names_of(k10,d),information(k10,w.run())); }
    fmt::print("{:8} P {:.3f} R {:.3f} wrong {} | bands", name,score.precision(),score.recall(),score.wrong);
    for(int b=0;b<4;++b) fmt::print(" {:.2f}({})",score.recall_in_band(b),score.in_band[b]);
    fmt::print(" | cal");
    for(int b=0;b<4;++b) fmt::print(" {:.3f}/{:.3f}({})",score.in_bin[b]?score.stated_in_bin[b]/score.in_bin[b]:0,score.in_bin[b]?double(score.true_in_bin[b])/score.in_bin[b]:0,score.in_bin[b]);
    fmt::print(" | {:.3f}s max {:.3f}\n",secs/seeds,worst); fflush(stdout);
  }
}
