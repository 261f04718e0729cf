#include "balancer/tune/nccl_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "balancer/assign/assign.hpp"
#include "topology/model/fabric.hpp"

namespace weft::tune {
namespace {

using demand::Collective;
using steer::NcclAlgorithm;
using steer::NcclProtocol;

/// What a step over the network takes longer by Simple than by LL: 14.0 us against 2.7 in a ring and 5.0 in a
/// tree (NCCL 2.28, graph/tuning.cc, hwLatencies of NET).
constexpr Nanoseconds kSimpleStepRing{11'300};
constexpr Nanoseconds kSimpleStepTree{9'000};
/// LL: four bytes of data and four of flag (NCCL, device.h, ncclLLFifoLine).
constexpr double kLlBytes = 2;

constexpr Bytes kLittle(1);
constexpr Bytes kMuch(1'000'000'000);

double seconds_of(const std::vector<assign::AlgorithmTime>& times, Collective collective) {
  const auto found = std::ranges::find(times, collective, &assign::AlgorithmTime::collective);
  return static_cast<double>(found->time.count()) / 1e9;
}

/// Of one byte, over all rails, as the balancer assigns them: its bound is not always met.
double seconds_a_byte(const Fabric& fabric, const TunedJob& job, Collective collective) {
  const auto demand = demand::make_hierarchical(fabric, job.hosts, collective, kMuch);
  const auto answer = assign::assign(fabric, demand, {.avoid = job.avoid});
  double bytes = 0;
  for (const assign::PhaseAssignment& phase : answer.phases)
    bytes += std::max(phase.load.busiest, phase.bounds.nic);
  return bytes * 8 / job.cost.link.value_or(answer.reference).bits_per_second() /
         static_cast<double>(kMuch.count());
}

}  // namespace

std::vector<ChoiceTime> all_reduce_choices(const Fabric& fabric, const TunedJob& job) {
  const auto rails = demand::rails_of(fabric, job.hosts);
  const auto& ranks = rails.front();
  const auto times = [&](Bytes size, Nanoseconds more) {
    assign::MeasuredCost cost = job.cost;
    cost.latency_in_leaf += more;
    cost.latency_across += more;
    return all_reduce_times(fabric, job.avoid, ranks, size, cost);
  };
  const auto little = times(kLittle, {});
  std::vector<ChoiceTime> choices;
  for (const auto& [collective, algorithm, simple] :
       {std::tuple(Collective::ring, NcclAlgorithm::ring, times(kLittle, kSimpleStepRing)),
        std::tuple(Collective::tree, NcclAlgorithm::tree, times(kLittle, kSimpleStepTree))}) {
    const double start = seconds_of(little, collective);
    const double a_byte = seconds_a_byte(fabric, job, collective);
    choices.push_back({algorithm, NcclProtocol::ll, start, a_byte * kLlBytes});
    choices.push_back({algorithm, NcclProtocol::simple, seconds_of(simple, collective), a_byte});
  }
  return choices;
}

Result<std::vector<steer::TunerRow>> all_reduce_rows(const Fabric& fabric, const TunedJob& job) {
  const auto rails = demand::rails_of(fabric, job.hosts);
  if (job.hosts.size() < 2 || rails.empty() || rails.front().size() != job.hosts.size())
    return fail(ErrorKind::usage, "an all-reduce over the network needs two hosts with a NIC each");
  const auto choices = all_reduce_choices(fabric, job);
  const auto nodes = static_cast<std::uint32_t>(job.hosts.size());
  const auto gpus = job.gpus == 0 ? static_cast<std::uint32_t>(rails.size()) : job.gpus;
  // The lower envelope of the lines: from the one that is least at 0, at each crossing to a flatter one.
  const auto* now = &*std::ranges::min_element(choices, [](const ChoiceTime& a, const ChoiceTime& b) {
    return std::pair(a.seconds, a.seconds_per_byte) < std::pair(b.seconds, b.seconds_per_byte);
  });
  std::vector<steer::TunerRow> rows;
  for (;;) {
    const ChoiceTime* next = nullptr;
    double crossing = std::numeric_limits<double>::infinity();
    for (const ChoiceTime& choice : choices) {
      if (choice.seconds_per_byte >= now->seconds_per_byte) continue;
      const double at = (choice.seconds - now->seconds) / (now->seconds_per_byte - choice.seconds_per_byte);
      if (at < crossing) {
        crossing = at;
        next = &choice;
      }
    }
    const bool is_last = next == nullptr || crossing >= 1e18;
    const auto up_to = is_last ? std::numeric_limits<std::uint64_t>::max()
                               : static_cast<std::uint64_t>(std::max(crossing, 0.0));
    if (rows.empty() || up_to > rows.back().up_to)
      rows.push_back(
          {steer::NcclFunction::all_reduce, nodes * gpus, nodes, up_to, now->algorithm, now->protocol, 0});
    if (is_last) return rows;
    now = next;
  }
}

}  // namespace weft::tune
