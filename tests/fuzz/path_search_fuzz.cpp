// Any answers to a search for paths, as forged ones may be: it ends, and what it takes for one path is one of
// the fabric that fits what was answered.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/plan/path_search.hpp"
#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

using namespace weft;

namespace {

constexpr std::size_t kMaxAskings = 70'000;  // each of the 16,384 labels of a pair three times, and more

struct World {
  Fabric fabric = *make_pod_clos({.pods = 2, .leaves = 1, .spines = 2, .cores = 4, .hosts_per_leaf = 2});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  std::vector<IpAddress> known;
  World() {
    for (std::uint32_t port = 0; port < fabric.ports().size(); ++port)
      if (const auto address = addresses.book.address_of(PortId(port))) known.push_back(*address);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  if (size == 0) return 0;
  PathTable table;
  plan::PathLearner learner(world.fabric, world.addresses.book, table);
  const auto nics = world.fabric.nics();
  plan::PathSearch search(learner, world.fabric, world.addresses.book,
                          {{nics[0], nics[3]}, {nics[1], nics[2]}, {nics[0], nics[1]}}, {.seed = data[0]});
  std::size_t at = 0;
  const auto byte = [&] { return data[at++ % size]; };
  std::size_t asked = 0;
  for (auto askings = search.next(); !askings.empty(); askings = search.next())
    for (const auto& asking : askings) {
      WEFT_CHECK(++asked < kMaxAskings);
      std::vector<datapath::HopAnswer> answers;
      for (unsigned hop = asking.hops.first; hop <= asking.hops.last; ++hop) {
        const auto what = byte();
        if (what < 64) continue;  // silent
        const auto from = what < 240 ? world.known[byte() % world.known.size()]
                                     : IpAddress(IpAddress::V4{192, 168, byte(), byte()});
        answers.push_back({.hop = static_cast<std::uint8_t>(hop), .is_peer = what % 7 == 0, .from = from});
      }
      search.take(asking, answers);
    }
  for (const auto& state : search.states()) {
    WEFT_CHECK(state.end != plan::SearchEnd::searching);
    WEFT_CHECK(state.paths_seen <= state.ways.paths);
    WEFT_CHECK((state.end == plan::SearchEnd::all_seen) <= (state.paths_seen == state.ways.paths));
  }
  return 0;
}
