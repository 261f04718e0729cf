// How near the planner is to what is known: closed forms, exact chains, published figures, drawn truths.
// Seeds are fixed.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/capacities.hpp"
#include "balancer/demand/collectives.hpp"
#include "balancer/reliability/draw.hpp"
#include "balancer/reliability/offenders.hpp"
#include "balancer/reliability/plan.hpp"
#include "balancer/reliability/simulator.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/pieces.hpp"
#include "tests/support/exact_chain.hpp"
#include "tests/support/llama_page.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

using namespace reliability;
using files::ClassRates;
using files::PartClass;
using files::RepairLaw;
using files::RepairTime;

ClassRates class_rates(PartClass part, double per_hour, std::uint64_t parts, std::vector<RepairTime> repair) {
  return {.part = part,
          .events = per_hour * 1e6 * static_cast<double>(parts),
          .parts = parts,
          .time = Hours(1e6),
          .repair = std::move(repair)};
}

Plant hosts_alone(Index hosts) {
  Plant plant;
  plant.name = "hosts";
  plant.hosts = hosts;
  plant.gpus_per_host = 8;
  plant.nics_of.assign(hosts, 0);
  plant.host_names.assign(hosts, "host");
  return plant;
}

/// 8 pods of these groups, of 16 hosts of 8 NICs each.
Plant llama_plant(std::uint32_t groups, std::uint32_t pods = 8) {
  const auto fabric = make_rails(
      {.groups = groups, .hosts_per_group = 16, .rails = 8, .spines = 16, .pods = pods, .cores = 256});
  return make_plant(*fabric, {}, 8);
}

void closed_forms(Figures& figures) {
  double worst = 0;
  for (int size = 0; size < 8; ++size)
    for (int form = 0; form < 8; ++form) {
      const Index hosts = 128U << size;
      const Plant plant = hosts_alone(hosts);
      // Of Llama 3: 419 in 54 days on 16,384 GPUs, half to twice as often.
      const double rate = 419.0 / (54 * 24) / 16384 * std::pow(2, form % 3 - 1);
      const files::Rates rates{.origin = "drawn",
                               .classes = {class_rates(PartClass::software, rate, plant.gpus(),
                                                       {{RepairLaw::fixed, Hours(0), 0, 1}})}};
      const Hours mean(1 / (rate * plant.gpus()));
      Job job{.hosts = hosts};
      job.detect = Hours(form % 2 == 0 ? 0.01 : 0.001);
      job.restart = Hours(form < 4 ? 0.04 : 0.004);
      job.checkpoint_cost = Hours(form % 4 < 2 ? 0.008 : 0.0008);
      job.checkpoint_every = daly_interval(job.checkpoint_cost, mean);
      const HistorySource source(plant, rates);
      const History history = source.draw(static_cast<std::uint64_t>(size * 8 + form),
                                          {.seed = 5, .length = mean * 400'000, .open_rates = false});
      const double simulated = Simulator(source, job).run(history).effective_share();
      worst = std::max(worst, std::abs(simulated - efficiency(job.checkpoint_every, job.checkpoint_cost,
                                                              job.down(), mean)));
    }
  figures.add("closed_form_error", worst, "at most 0.002");
}

/// The other hosts that are out when one of the job fails (Poisson arrivals see time averages), against
/// Poisson's law, for four repair laws of 16 h each.
void hosts_out(Figures& figures) {
  const std::vector<std::vector<RepairTime>> laws{
      {{RepairLaw::fixed, Hours(16), 0, 1}},
      {{RepairLaw::exponential, Hours(16), 0, 1}},
      {{RepairLaw::log_normal, Hours(16), 1.2, 1}},
      {{RepairLaw::exponential, Hours(4), 0, 0.5}, {RepairLaw::exponential, Hours(28), 0, 0.5}}};
  constexpr double kMean = 4;
  double worst = 0;
  const Plant plant = hosts_alone(2048);
  for (const auto& law : laws) {
    const files::Rates rates{.origin = "drawn",
                             .classes = {class_rates(PartClass::host, kMean / 16 / 2048, 2048, law)}};
    Job job{.hosts = 1998, .spares = 50};
    job.detect = job.restart = Hours(1e-9);
    const HistorySource source(plant, rates);
    const auto outcome =
        Simulator(source, job).run(source.draw(1, {.seed = 9, .length = Hours(2e6), .open_rates = false}));
    double distance = 0;
    for (std::size_t out = 1; out < outcome.missing.size(); ++out) {
      const double expected =
          poisson_at_most(out - 1, kMean) - (out > 1 ? poisson_at_most(out - 2, kMean) : 0);
      distance += std::abs(static_cast<double>(outcome.missing[out]) / outcome.restarts - expected) / 2;
    }
    worst = std::max(worst, distance);
  }
  figures.add("down_hosts_distance", worst, "at most 0.01");
}

void brute_force(Figures& figures) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const TinyCluster cluster = draw_tiny_cluster(seed);
    const HistorySource source(cluster.plant, cluster.rates);
    Job job{.hosts = std::max<Index>(1, cluster.plant.hosts * 2 / 3)};
    job.spares = cluster.plant.hosts - job.hosts;
    job.detect = job.restart = Hours(0);
    std::vector<double> shares;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto outcome =
          Simulator(source, job)
              .run(source.draw(i, {.seed = seed, .length = Hours(20'000), .open_rates = false}));
      shares.push_back(outcome.time.waiting / outcome.length);
    }
    double mean = 0, square = 0;
    for (const double each : shares) mean += each / 40, square += each * each / 40;
    const double error = std::sqrt(std::max(square - mean * mean, 1e-18) / 39);
    worst = std::max(worst, std::abs(mean - exact_shortage(cluster, job.hosts)) / error);
  }
  figures.add("brute_force_z", worst, "at most 4");
}

PlanRequest llama_request(Hours cost, Hours down) {
  PlanRequest request;
  request.job.hosts = 2048;
  request.job.checkpoint_cost = cost;
  request.job.detect = down / 3;
  request.job.restart = down * 2 / 3;
  return request;
}

void llama(Figures& figures) {
  const Plant plant = llama_plant(24);
  const auto rates = files::published_rates();
  const auto plan = make_plan(plant, rates, llama_request(Hours(0.5 / 60), Hours(3.0 / 60)));
  figures.add("llama3_interruptions", plan->interruptions.mean, "419 within 1");
  figures.add("llama3_low", static_cast<double>(plan->interruptions.low), "364");
  figures.add("llama3_high", static_cast<double>(plan->interruptions.high), "478");
  figures.add("llama3_ettr", plan->effective.mean, "0.913 within 0.002");
  const auto fast = make_plan(plant, rates, llama_request(Hours(0.05 / 60), Hours(10.0 / 60)));
  figures.add("llama3_ettr_fast_checkpoints", fast->effective.mean, "0.926 within 0.002");
  auto request = llama_request(Hours(0.5 / 60), Hours(3.0 / 60));
  request.job.detect = Hours(0);
  request.job.restart = Hours(3.0 / 60);
  request.what_ifs = {"restart=2.5m"};
  const auto paired = make_plan(plant, rates, request);
  const Gain& gain = paired->what_ifs.front();
  figures.add("paired_spread", (gain.high - gain.low) / 2 / gain.unpaired, "at most 0.2");
}

/// 100 drawn clusters: does what was advised hold in fresh histories, and is it more than the least?
void spares(Figures& figures) {
  int held = 0;
  std::vector<double> over;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Stream stream({seed, 3});
    const Plant plant = llama_plant(static_cast<std::uint32_t>(2 + stream.below(3)), 4);
    auto rates = files::published_rates();
    for (ClassRates& each : rates.classes)
      each.events = std::ceil(each.events * std::exp(0.5 * stream.normal()));
    PlanRequest request;
    request.job.hosts = plant.hosts * 3 / 4;
    request.seed = seed;
    request.histories = 1000;
    const auto plan = make_plan(plant, rates, request);
    const HistorySource source(plant, rates);
    const auto kept = [&](Index count) {
      Job job = plan->job;
      job.spares = count;
      Simulator simulator(source, job);
      double full = 0, all = 0;
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const auto outcome = simulator.run(source.draw(i, {.seed = seed + 1000, .length = request.length}));
        full += outcome.full, all += outcome.restarts;
      }
      return full / all;
    };
    Index least = plan->job.spares;
    held += kept(least) >= 0.999 ? 1 : 0;
    while (least > 0 && kept(least - 1) >= 0.999) --least;
    over.push_back(static_cast<double>(plan->job.spares) / std::max<Index>(least, 1) - 1);
  }
  std::ranges::sort(over);
  figures.add("spares_kept", held, "95 of 100");
  figures.add("spares_over", over[over.size() / 2], "at most 0.05");
}

/// 40 drawn clusters: are the three improvements that a plan of 300 histories names the best of 1,000 others?
/// What differs by less than a twentieth from the third is as good.
void improvements(Figures& figures) {
  constexpr int kClusters = 40;
  constexpr double kAsGood = 0.95;
  int right = 0;
  for (std::uint64_t seed = 1; seed <= kClusters; ++seed) {
    Stream stream({seed, 51});
    const Plant plant = llama_plant(2, 2);
    auto rates = files::published_rates();
    for (ClassRates& each : rates.classes)
      each.events = std::ceil(each.events * 20 * std::exp(0.8 * stream.normal()));
    PlanRequest request;
    request.job.hosts = plant.hosts * 3 / 4;
    request.job.detect *= std::exp(stream.normal());
    request.job.restart *= std::exp(stream.normal());
    request.job.checkpoint_cost *= std::exp(stream.normal());
    request.spares = 12;
    request.seed = seed;
    const auto plan = make_plan(plant, rates, request);
    request.seed = seed + 1000, request.histories = 1000;
    const auto truth = make_plan(plant, rates, request);
    const double third = truth->improvements[2].gain;
    const auto as_good = [&](const Gain& named) {
      const auto same = std::ranges::find(truth->improvements, named.what, &Gain::what);
      return same->gain >= kAsGood * third;
    };
    right += std::all_of(plan->improvements.begin(), plan->improvements.begin() + 3, as_good) ? 1 : 0;
  }
  figures.add("top3_right", static_cast<double>(right) / kClusters, "0.95");
}

/// Rates of 60 days, and what comes in the next 54; with offenders and domains.
void coverage(Figures& figures) {
  int inside = 0;
  constexpr int kClusters = 500;
  for (int i = 0; i < kClusters; ++i) {
    Stream stream({static_cast<std::uint64_t>(i), 11});
    Plant plant = llama_plant(2, 2);
    for (Index d = 0; d < 4; ++d) {
      Domain domain{.name = fmt::format("pdu{}", d),
                    .kind = "power",
                    .events = 1,
                    .exposure = Hours(24 * 20 * (0.5 + stream.uniform()))};
      domain.repair = Hours(4);
      for (Index host = d * 16; host < d * 16 + 16; ++host) domain.hosts.push_back(host);
      plant.domains.push_back(domain);
    }
    auto truth = files::published_rates();
    for (ClassRates& each : truth.classes)
      each.events = std::max(1.0, each.events * std::exp(0.7 * stream.normal()) * 8);
    for (Index host = 0; host < plant.hosts; ++host)
      if (stream.uniform() < 0.015)
        truth.classes[1].known.push_back(
            {.name = plant.host_names[host], .events = 0, .ratio = 15, .offender = 1});
    const HistorySource source(plant, truth);
    const auto seen = source.draw(
        0, {.seed = static_cast<std::uint64_t>(i), .length = Hours(60 * 24), .open_rates = false});
    const auto next = source.draw(
        1, {.seed = static_cast<std::uint64_t>(i), .length = Hours(54 * 24), .open_rates = false});
    std::vector<CountSource> sources;
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      const auto count = std::ranges::count(seen.failures, cause,
                                            [](const Failure& each) { return std::size_t{each.cause}; });
      sources.push_back({files::events_counted(static_cast<double>(count)), 54.0 / 60});
    }
    const auto forecast = forecast_count(sources);
    inside += next.failures.size() >= forecast.low && next.failures.size() <= forecast.high ? 1 : 0;
  }
  figures.add("coverage_95", static_cast<double>(inside) / kClusters, "0.93 to 0.97");
}

/// 1.5 % of 3,072 hosts fail 15 times as often; 90 days of counts.
void offenders(Figures& figures) {
  double named = 0, right = 0, by_rule = 0, by_rule_right = 0, ratio = 0, raw = 0, count = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Stream stream({seed, 21});
    const double rate =
        314.0 / 54 / 2048 * 90 / 1.21;  // of a host and its GPUs in 90 days, mean as published
    std::vector<bool> is_bad(3072);
    std::vector<PartHistory> parts;
    for (std::size_t i = 0; i < is_bad.size(); ++i) {
      is_bad[i] = stream.uniform() < 0.015;
      parts.push_back({stream.poisson(rate * (is_bad[i] ? 15 : 1)), Hours(90 * 24)});
    }
    const auto fit = fit_offenders(parts);
    double predicted = 0, counted = 0, truth = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto posterior = posterior_of(fit, parts[i]);
      if (posterior.offender >= 0.9)
        ++named, right += is_bad[i], predicted += posterior.rate * 90 * 24,
            counted += static_cast<double>(parts[i].events), truth += rate * (is_bad[i] ? 15 : 1);
      if (parts[i].events >= 2) ++by_rule, by_rule_right += is_bad[i];
    }
    if (truth > 0) ratio += predicted / truth, raw += counted / truth, ++count;
  }
  figures.add("offender_precision", right / named, "0.95; the rule of two failures:");
  figures.add("two_failures_precision", by_rule_right / by_rule);
  figures.add("offenders_named", named / 50);
  figures.add("offender_rate_ratio", ratio / count, "0.9 to 1.1");
  figures.add("raw_rate_ratio", raw / count);
}

/// The bound of the balancer over that of the fabric as built, for these flows.
double balance_slowdown(const Fabric& fabric, const demand::Demand& flows, std::span<const LinkId> down) {
  assign::AssignOptions options;
  const double whole = assign::assign(fabric, flows, options).fractional_bound();
  options.avoid = assign::without(down);
  return assign::assign(fabric, flows, options).fractional_bound() / whole;
}

/// Fabrics of two tiers, of pods and of rails in turn, in which any two leaves keep a way to each other.
Result<Fabric> drawn_fabric(Stream& stream) {
  const auto some = [&](std::uint32_t least, std::uint32_t range) {
    return least + static_cast<std::uint32_t>(stream.below(range));
  };
  switch (stream.below(3)) {
    case 0:
      return make_clos({.leaves = some(4, 4), .spines = some(4, 5), .hosts_per_leaf = 4});
    case 1:
      return make_pod_clos(
          {.pods = some(2, 2), .leaves = some(2, 2), .spines = 4, .cores = 8, .hosts_per_leaf = some(2, 3)});
    default:
      return make_rails(
          {.groups = some(2, 3), .hosts_per_group = some(2, 2), .rails = some(2, 2), .spines = some(4, 2)});
  }
}

/// 200 fabrics with one to three cables between switches down: the plan's slowdown and the balancer's.
void slowdowns(Figures& figures) {
  int equal = 0, of_shift = 0;
  constexpr int kFabrics = 200;
  for (std::uint64_t seed = 1; seed <= kFabrics; ++seed) {
    Stream stream({seed, 31});
    const auto fabric = drawn_fabric(stream);
    const Plant plant = make_plant(*fabric, {}, 1);
    PlantState state(plant);
    state.reset({.hosts = plant.hosts});
    std::vector<LinkId> cables, down;
    for (std::uint32_t link = 0; link < fabric->link_count(); ++link)
      if (fabric->between_switches(LinkId(link))) cables.push_back(LinkId(link));
    for (std::uint64_t i = 1 + stream.below(3); i > 0; --i) {
      const auto at = static_cast<Index>(stream.below(cables.size()));
      if (std::ranges::find(down, cables[at]) != down.end()) continue;
      down.push_back(cables[at]);
      state.take_cable(at);
    }
    const std::span<const PortId> ranks = fabric->nics();
    const auto all = demand::make_collective(demand::Collective::all_to_all, ranks, Bytes(1'000'000));
    equal += std::abs(balance_slowdown(*fabric, all, down) - state.narrowest()) < 1e-6 ? 1 : 0;
    const auto shift = demand::make_shift(ranks, 4, Bytes(1'000'000));
    of_shift += std::abs(balance_slowdown(*fabric, shift, down) - state.narrowest()) < 1e-6 ? 1 : 0;
  }
  figures.add("slowdown_equal", static_cast<double>(equal) / kFabrics, "1.000 (all-to-all)");
  figures.add("slowdown_equal_shift", static_cast<double>(of_shift) / kFabrics);
}

/// How much more is lost by sweeping as often as the formula says than by the best of a fine grid.
void cadence(Figures& figures) {
  int good = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Stream stream({seed, 41});
    const Plant plant = make_plant(*make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 4}), {}, 8);
    const double rate = 0.001 * std::pow(10, stream.uniform()), slow_to = 0.3 + 0.4 * stream.uniform();
    ClassRates cables =
        class_rates(PartClass::switch_cable, rate / 64, 64, {{RepairLaw::fixed, Hours(0), 0, 1}});
    cables.stops = 0, cables.silent = 1, cables.slow_to = slow_to;
    const files::Rates rates{.origin = "drawn", .classes = {cables}};
    Job job{.hosts = 32};
    job.checkpoint_every = Hours(1e5), job.checkpoint_cost = Hours(0);
    job.sweeps = {
        .policy = SweepPolicy::every, .every = Hours(1), .cost = Hours(0.02 + 0.1 * stream.uniform())};
    const HistorySource source(plant, rates);
    const auto history = source.draw(0, {.seed = seed, .length = Hours(2e6), .open_rates = false});
    const auto lost = [&](Hours every) {
      job.sweeps.every = every;
      return 1 - Simulator(source, job).run(history).effective_share();
    };
    const double slowdown = 1 - 1 / (1 - job.network_share + job.network_share / slow_to);
    const Hours advised = sweep_interval(job.sweeps.cost, rate, slowdown);
    double least = lost(advised);
    const double chosen = least;
    for (double factor = 0.6; factor < 1.7; factor *= 1.1) least = std::min(least, lost(advised * factor));
    good += chosen / least - 1 <= 0.02 ? 1 : 0;
  }
  figures.add("cadence_regret", good, "0.02 in 95 of 100");
}

void speed(Figures& figures) {
  const Plant plant = llama_plant(24);
  const auto rates = files::published_rates();
  const HistorySource source(plant, rates);
  Job job{.hosts = 3000, .spares = 72};
  Simulator simulator(source, job);
  const double year = cpu_milliseconds([&] {
    for (std::uint64_t i = 0; i < 20; ++i) simulator.run(source.draw(i, {.seed = 1, .length = Hours(8766)}));
  });
  figures.add("year_24576_ms", year / 20, "at most 4");
  const auto whole = [&](const Plant& of, Index hosts) {
    PlanRequest request;
    request.job.hosts = hosts;
    return milliseconds([&] { static_cast<void>(make_plan(of, rates, request)); }) / 1000;
  };
  figures.add("plan_24576_s", whole(plant, 3000), "at most 20");
  const auto large = enlarged(plant, 104'000);
  figures.add("plan_100k_s", whole(*large, 12'500), "at most 60");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.add("plan_mb", static_cast<double>(usage.ru_maxrss) / 1000, "at most 500");
}

/// The table of Llama 3 in docs/plan.md, row by row, by the commands that the page shows.
void page(Figures& figures) {
  const auto page = llama_page();
  int right = 0;
  for (std::size_t i = 0; i < page.commands.size() && i < page.rows.size(); ++i) {
    const auto made = llama_row(page, page.commands[i]);
    right += made == page.rows[i] ? 1 : 0;
    if (made != page.rows[i]) fmt::print("{}\n", made);
  }
  figures.add("llama3_page_rows", right, "5");
}

constexpr Piece kPieces[]{{"closed", closed_forms}, {"out", hosts_out},
                          {"chains", brute_force},  {"llama", llama},
                          {"speed", speed},         {"coverage", coverage},
                          {"offenders", offenders}, {"slowdowns", slowdowns},
                          {"cadence", cadence},     {"improvements", improvements},
                          {"spares", spares},       {"page", page}};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::run_pieces("plan", weft::bench::kPieces, argc, argv); }
