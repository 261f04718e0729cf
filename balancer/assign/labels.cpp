#include "balancer/assign/labels.hpp"

#include "topology/base/check.hpp"

namespace weft {

void choose_labels(std::vector<SteeredQp>& qps, const std::vector<Flow>& flows, const KnownPaths& known) {
  std::size_t first = 0;  // of the QPs of this flow
  for (std::size_t i = 0; i < qps.size(); ++i) {
    if (qps[i].flow != qps[first].flow) first = i;
    const Flow& flow = flows[qps[i].flow];
    if (qps[i].route.size() == 0) continue;  // within a leaf any label goes the same way
    const auto labels = known.labels(flow.src, flow.dst, qps[i].route);
    WEFT_CHECK(!labels.empty());
    std::size_t same = 0;
    for (std::size_t j = first; j < i; ++j) same += qps[j].route == qps[i].route;
    qps[i].label = labels[same % labels.size()];
  }
}

}  // namespace weft
