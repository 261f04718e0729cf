#include "balancer/flowsim/strategies.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "balancer/assign/greedy.hpp"
#include "balancer/assign/phase_solver.hpp"
#include "balancer/flowsim/fair_share.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::flowsim {
namespace {

/// A route for every item, drawn evenly.
std::vector<assign::SwitchRoute> hashed(assign::Instance& instance, const assign::Routes& routes,
                                        std::uint64_t seed) {
  instance.fill_routes(routes);
  std::mt19937_64 random(seed);
  std::vector<assign::SwitchRoute> taken;
  for (assign::ItemId item = 0; item < instance.item_count(); ++item) {
    const auto& choices = instance.routes_of(item);
    taken.push_back(choices[random() % choices.size()]);
  }
  return taken;
}

class PhaseSimulation {
 public:
  PhaseSimulation(const assign::Ground& ground, const demand::Phase& phase) : ground_(ground), phase_(phase) {
    for (std::uint32_t c = 0; c < ground.fabric.channel_count(); ++c)
      capacity_.push_back(ground.capacities[ChannelId(c)] / 8);
  }

  /// The same packet by packet; adds up in `sum` what the packets came to.
  std::vector<double> run_packets(std::span<const assign::SteeredQp> qps, const PacketSettings& settings,
                                  SpreadOutcome& sum) const {
    const auto sendings = routed_sendings(ground_.fabric, phase_, qps, settings.payload);
    const auto run = send_packets(capacity_, sendings, settings);
    sum.fluid += predicted_seconds(capacity_, sendings, settings.frames);
    std::uint64_t wanted = 0;
    for (const Sending& sending : sendings) wanted += sending.packets;
    sum.packets += wanted;
    sum.sent_again += run.sent - wanted;
    sum.dropped += run.dropped;
    return of_flows(qps, run.seconds);
  }

  /// Seconds until each flow is through.
  std::vector<double> run(std::span<const assign::SteeredQp> qps, double resolution) const {
    std::vector<Stream> streams;
    for (const assign::SteeredQp& qp : qps) {
      streams.push_back(on_host_cables(qp.flow, qp.bytes));
      for (const ChannelId channel : qp.route.channels()) streams.back().uses.push_back({channel, 1});
    }
    return of_flows(qps, completion_times(streams, capacity_, resolution));
  }

  std::vector<double> run_sprayed(std::span<const assign::SteeredQp> one_qp_a_flow, double resolution) const {
    std::vector<Stream> streams;
    std::vector<double> share(capacity_.size());
    for (const assign::SteeredQp& qp : one_qp_a_flow) {
      Stream& stream = streams.emplace_back(on_host_cables(qp.flow, qp.bytes));
      const auto routes = ground_.routes.between(*ground_.routes.leaf_of(phase_.flows[qp.flow].src),
                                                 *ground_.routes.leaf_of(phase_.flows[qp.flow].dst));
      std::vector<ChannelId> touched;
      for (const assign::SwitchRoute& route : routes)
        for (const ChannelId channel : route.channels()) {
          if (share[channel.value()] == 0) touched.push_back(channel);
          share[channel.value()] += 1.0 / static_cast<double>(routes.size());
        }
      for (const ChannelId channel : touched) {
        stream.uses.push_back({channel, share[channel.value()]});
        share[channel.value()] = 0;
      }
    }
    const auto times = completion_times(streams, capacity_, resolution);
    std::vector<double> of_flow(phase_.flows.size());
    for (std::size_t i = 0; i < times.size(); ++i) of_flow[one_qp_a_flow[i].flow] = times[i];
    return of_flow;
  }

 private:
  std::vector<double> of_flows(std::span<const assign::SteeredQp> qps,
                               const std::vector<double>& times) const {
    std::vector<double> of_flow(phase_.flows.size());
    for (std::size_t i = 0; i < qps.size(); ++i)
      of_flow[qps[i].flow] = std::max(of_flow[qps[i].flow], times[i]);
    return of_flow;
  }

  Stream on_host_cables(std::uint32_t flow, double bytes) const {
    return {bytes,
            {{*ground_.fabric.channel_from(phase_.flows[flow].src), 1},
             {*ground_.fabric.channel_into(phase_.flows[flow].dst), 1}}};
  }

  const assign::Ground& ground_;
  const demand::Phase& phase_;
  std::vector<double> capacity_;  // bytes per second, per channel
};

assign::PhaseAssignment spread(const assign::Ground& ground, const demand::Phase& phase,
                               const Strategy& strategy, const assign::AssignOptions& options) {
  assign::AssignOptions own{.qps = strategy.spread == Spread::spray ? 1 : strategy.qps,
                            .avoid = options.avoid,
                            .seed = options.seed};
  switch (strategy.spread) {
    case Spread::ecmp:
    case Spread::spray:  // routes do not matter: only which flows there are, and their bounds
      return assign_phase(ground, phase, own, [&](assign::Instance& instance, const assign::Bounds&) {
        return hashed(instance, ground.routes, options.seed);
      });
    case Spread::greedy:
      return assign_phase(ground, phase, own, [&](assign::Instance& instance, const assign::Bounds&) {
        return solve_greedy(instance, ground.routes);
      });
    case Spread::weft:
      return assign::assign(ground.fabric, phase, own);
  }
  return {};
}

double squares_of(const Fabric& fabric, std::span<const assign::SteeredQp> qps) {
  std::vector<double> load(fabric.channel_count());
  for (const assign::SteeredQp& qp : qps)
    for (const ChannelId channel : qp.route.channels()) load[channel.value()] += qp.bytes;
  return std::inner_product(load.begin(), load.end(), load.begin(), 0.0);
}

/// Runs all phases by `times_of`: seconds of each flow of a phase as it was spread.
template <class TimesOf>
SpreadOutcome run_phases(const Fabric& fabric, const demand::Demand& demand, const Strategy& strategy,
                         const assign::AssignOptions& options, TimesOf times_of) {
  const assign::Ground ground(fabric, options);
  SpreadOutcome outcome{.strategy = strategy};
  double bound = 0;
  std::size_t flows = 0;
  for (const demand::Phase& phase : demand.phases) {
    const auto answer = spread(ground, phase, strategy, options);
    const auto times = times_of(PhaseSimulation(ground, phase), answer.qps, outcome);
    if (strategy.spread != Spread::spray) outcome.squares += squares_of(fabric, answer.qps);
    double last = 0;
    for (const double time : times) {
      last = std::max(last, time);
      outcome.mean_flow += time;
    }
    flows += times.size();
    outcome.seconds += last;
    bound += std::max(answer.bounds.fractional, answer.bounds.nic) * 8 /
             ground.capacities.reference().bits_per_second();
  }
  if (flows > 0) outcome.mean_flow /= static_cast<double>(flows);
  if (bound > 0) outcome.over_bound = outcome.seconds / bound;
  return outcome;
}

}  // namespace

std::string describe(const Strategy& strategy) {
  const auto qps = [&] { return fmt::format("{} QP{}", strategy.qps, strategy.qps == 1 ? "" : "s"); };
  switch (strategy.spread) {
    case Spread::ecmp:
      return "ECMP, " + qps();
    case Spread::spray:
      return "round-robin spray";
    case Spread::greedy:
      return "greedy, " + qps();
    case Spread::weft:
      return "weft, " + qps();
  }
  return "";
}

std::vector<Strategy> usual_strategies() {
  return {{Spread::ecmp, 1},   {Spread::ecmp, 4}, {Spread::ecmp, 16}, {Spread::spray, 1}, {Spread::greedy, 1},
          {Spread::greedy, 4}, {Spread::weft, 1}, {Spread::weft, 4},  {Spread::weft, 16}};
}

SpreadOutcome simulate(const Fabric& fabric, const demand::Demand& demand, const Strategy& strategy,
                       const assign::AssignOptions& options, double resolution) {
  const auto times_of = [&](const PhaseSimulation& phase, std::span<const assign::SteeredQp> qps,
                            SpreadOutcome&) {
    return strategy.spread == Spread::spray ? phase.run_sprayed(qps, resolution) : phase.run(qps, resolution);
  };
  return run_phases(fabric, demand, strategy, options, times_of);
}

SpreadOutcome simulate_packets(const Fabric& fabric, const demand::Demand& demand, const Strategy& strategy,
                               const assign::AssignOptions& options, const PacketSettings& settings) {
  WEFT_CHECK(strategy.spread != Spread::spray);
  const auto times_of = [&](const PhaseSimulation& phase, std::span<const assign::SteeredQp> qps,
                            SpreadOutcome& sum) { return phase.run_packets(qps, settings, sum); };
  return run_phases(fabric, demand, strategy, options, times_of);
}

std::uint64_t packets_of(const demand::Demand& demand, std::uint32_t qps, Bytes payload) {
  double sum = 0;
  for (const demand::Phase& phase : demand.phases)
    for (const demand::Flow& flow : phase.flows)
      sum += qps * std::ceil(static_cast<double>(flow.bytes.count()) /
                             (static_cast<double>(payload.count()) * qps));
  return static_cast<std::uint64_t>(sum);
}

}  // namespace weft::flowsim
