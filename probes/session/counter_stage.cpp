#include "probes/session/counter_stage.hpp"

#include <utility>

namespace weft {
namespace {

constexpr auto kLimit = std::chrono::seconds(5);  // some drivers ask the firmware for each of a hundred files

}  // namespace

std::vector<WorkItem> CounterStage::next_wave() {
  std::vector<WorkItem> work;
  if (std::exchange(asked_, true)) return work;
  for (const NodeId host : state_->fabric.hosts())
    for (const PortId nic : state_->fabric.ports_of(host))
      if (state_->takes_part(nic) && state_->addresses.address_of(nic))
        work.push_back({nic, kLimit, CounterQuery{}});
  return work;
}

void CounterStage::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto* read = answer ? std::get_if<std::vector<NicCounters>>(answer) : nullptr;
  if (read && !read->empty()) readings_->insert_or_assign(item.nic, read->front());
}

}  // namespace weft
