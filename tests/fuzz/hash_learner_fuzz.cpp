// Any answers, as forged ones may be: a learner predicts what it was told of a flow, or nothing.
#include <cstddef>
#include <cstdint>
#include <span>

#include "probes/plan/hash_learner.hpp"
#include "topology/base/check.hpp"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // A search through all CRCs takes a second of this: sizes that are powers of two, but for a few.
  const std::uint32_t members = data[0] < 4 ? 48 : 1U << (1 + data[0] % 6);
  plan::HashLearner learner(members, Fraction(0.999));
  const IpAddress dst(IpAddress::V4{10, 0, 0, 1});
  for (std::size_t i = 1; i + 3 < size; i += 4) {
    const IpAddress src(IpAddress::V4{10, 0, 0, data[i + 2]});
    const auto flow = routing::FlowBits::of(src, dst, PathLabel(data[i] * 256U + data[i + 1]));
    const std::uint32_t member = data[i + 3] % members;
    learner.learn(flow, member);
    const auto told = learner.predict(flow);
    WEFT_CHECK(!told || *told == member);
    WEFT_CHECK(!learner.given_up() || !told);
  }
  return 0;
}
