// The single cases of the benchmark: one fault of a stated kind in a small fabric.
#include "tests/bench/verdicts/cases.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/bench/verdicts/pieces.hpp"

namespace weft::bench {
namespace {

Claims claims_in(const SweepCase& one, const Swept& swept) {
  return claims_of(one.fabric->fabric, swept.report.diagnosis);
}

/// What a channel's MTU is said to be, where it is found.
std::optional<Estimate> found_mtu(const SweepCase& one, const Swept& swept) {
  const LinkId link = one.faults.front().link;
  for (const LinkFinding& finding : swept.report.diagnosis.links)
    if (finding.link == link && finding.cause == Cause::mtu) return finding.estimate;
  for (const HostFinding& finding : swept.report.diagnosis.hosts)
    if (finding.link == link && finding.cause == Cause::mtu) return finding.estimate;
  return std::nullopt;
}

/// The estimate is the largest size sent that passes, and its interval ends at the next size, or just below.
bool is_exact(Bytes limit, const Estimate& said, const Observations& seen) {
  std::int64_t passes = 0;
  std::int64_t stops = std::int64_t{1} << 40;
  for (const Observation& row : seen.probes) {
    const auto size = row.size.count();
    if (size == 0 || row.back) continue;
    (size <= limit.count() ? passes : stops) =
        size <= limit.count() ? std::max(passes, size) : std::min(stops, size);
  }
  const auto value = std::llround(said.value);
  const auto high = std::llround(said.high);
  return value == passes && (high == stops || high == stops - 1);
}

using Causes = std::vector<Cause>;

bool is_one_of(const Causes& causes, std::optional<Cause> said) {
  return !said || std::ranges::find(causes, *said) != causes.end();
}

/// The cable of the fault, either way.
bool holds_cable(const auto& channels, const SweepCase& one) {
  const ChannelId channel = Fabric::a_to_b(one.faults.front().link);
  return holds(channels, channel) || holds(channels, Fabric::reverse(channel));
}

bool is_in_a_set(const SweepCase& one, const Swept& swept, const Causes& causes) {
  return std::ranges::any_of(claims_in(one, swept).sets, [&](const OpenClaim& set) {
    return set.alternatives.size() <= kMaxAlternatives && is_one_of(causes, set.cause) &&
           holds_cable(set, one);
  });
}

}  // namespace

void bench_sound(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "sound", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random&) { return SweepCase{.fabric = &fabric}; },
      [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
        const Claims claims = claims_in(one, swept);
        return swept.report.diagnosis.verdict == Verdict::healthy && claims.names.empty() &&
               claims.sets.empty();
      });
  add_count(figures, "sound_healthy", share);
}

void bench_dead_transmitter(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "dead_transmitter", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        const auto nics = fabric.fabric.nics();
        FaultSpec fault = fault_on(*fabric.fabric.channel_from(nics[pick(random, nics.size())]));
        fault.loss = Fraction(1.0);
        return SweepCase{.fabric = &fabric, .faults = {fault}};
      },
      [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
        const Claims claims = claims_in(one, swept);
        const auto is_it = [&](const Name& name) {
          return holds(name.channels, *one.faults.front().channel) &&
                 (!name.cause || *name.cause == Cause::loss || *name.cause == Cause::down);
        };
        return !claims.names.empty() && std::ranges::all_of(claims.names, is_it);
      });
  add_count(figures, "dead_transmitter", share);
}

void bench_half_bad(const VerdictOptions& options, Figures& figures) {
  constexpr std::size_t kEvery = 50;  // of the other pieces' seeds: each takes as long as all of theirs
  const std::size_t count = std::max<std::size_t>(options.seeds / kEvery, 1);
  Share named, named_or_set, wrong, healthy;
  const auto make = [](const SmallFabric& fabric, Random& random) {
    SweepCase one{.fabric = &fabric, .load = session::LoadLevel::none};
    for (std::uint32_t link = 0; link < fabric.fabric.link_count(); ++link) {
      const ChannelId channel = Fabric::a_to_b(LinkId(link));
      if (fabric.fabric.is_host(fabric.fabric.source_node(channel)) ||
          fabric.fabric.is_host(fabric.fabric.target_node(channel)))
        continue;
      one.faults.push_back(fault_on(channel, true));
      one.faults.back().loss = Fraction(uniform(random, 0.05, 0.6));
    }
    std::ranges::shuffle(one.faults, random);
    one.faults.resize(one.faults.size() / 2);
    return one;
  };
  const auto is_right = [&](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
    const Fabric& fabric = one.fabric->fabric;
    Claims claims = claims_in(one, swept);
    for (const auto& [node, cause] : claims.switches)
      for (const ChannelId channel : fabric.channels_at(node)) claims.names.push_back({{channel}, cause});
    std::set<LinkId> bad, said, open;
    for (const FaultSpec& fault : one.faults) bad.insert(fault.link);
    for (const Name& name : claims.names)
      for (const ChannelId channel : name.channels) said.insert(Fabric::link_of(channel));
    for (const OpenClaim& set : claims.sets)
      for (const auto& alternative : set.alternatives)
        for (const ChannelId channel : alternative) open.insert(Fabric::link_of(channel));
    for (const LinkId link : bad) {
      named.add(said.contains(link));
      named_or_set.add(said.contains(link) || open.contains(link));
    }
    for (const LinkId link : said) wrong.add(!bad.contains(link));
    healthy.add(swept.report.diagnosis.verdict == Verdict::healthy);
    return bad == said;
  };
  VerdictOptions one_by_one = options;
  one_by_one.threads = 1;
  const double took = cpu_milliseconds(
      [&] { run_cases(one_by_one, "half_bad", count, std::vector{three_pods()}, make, is_right); });
  figures.add("half_bad_healthy", static_cast<double>(healthy.good), "0");
  figures.add("half_bad_named", named.value());
  figures.add("half_bad_named_or_set", named_or_set.value(), ".97");
  figures.add("half_bad_wrong", wrong.value(), "at most .01");
  figures.add("half_bad_seconds", took / 1e3 / static_cast<double>(count), "at most 90");
}

void bench_mtu(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const auto is_found_exactly = [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
    const auto said = found_mtu(one, swept);
    if (said) return is_exact(*one.faults.front().mtu, *said, swept.observations);
    // Where a channel cannot be told from others a set stands for it, which has no estimate.
    return is_in_a_set(one, swept, {Cause::mtu}) ? std::nullopt : std::optional(false);
  };
  const Share share = run_cases(
      options, "mtu", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        FaultSpec fault = fault_on(any_channel(fabric.fabric, random), random() % 2 == 0);
        fault.mtu = Bytes(1500 + static_cast<std::int64_t>(pick(random, 4096 - 1500 + 1)));
        return SweepCase{.fabric = &fabric, .faults = {fault}};
      },
      is_found_exactly);
  add_count(figures, "mtu_exact", share);
}

void bench_even_loss(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "even_loss", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        const Fraction loss(log_uniform(random, 0.001, 0.2));
        SweepCase one{.fabric = &fabric};
        for (std::uint32_t l = 0; l < fabric.fabric.link_count(); ++l)
          one.faults.push_back({.link = LinkId(l), .loss = loss});
        return one;
      },
      [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
        const Diagnosis& found = swept.report.diagnosis;
        if (found.verdict <= Verdict::unknown) return false;
        const auto of_loss = [](const FabricFinding& finding) { return finding.cause == Cause::loss; };
        if (std::ranges::any_of(found.fabric, of_loss)) return true;
        // Or every channel by its name.
        const Claims claims = claims_in(one, swept);
        const auto is_named = [&](ChannelId channel) {
          return std::ranges::any_of(claims.names, [&](const Name& name) {
            return goes_with(name.cause, Cause::loss) && holds(name.channels, channel);
          });
        };
        return std::ranges::all_of(one.faults, [&](const FaultSpec& fault) {
          return is_named(Fabric::a_to_b(fault.link)) && is_named(Fabric::b_to_a(fault.link));
        });
      });
  add_count(figures, "even_loss_named", share);
}

void bench_partial_hosts(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "partial_hosts", 2 * options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        const auto all = fabric.fabric.hosts();
        SweepCase one{.fabric = &fabric, .hosts = {all.begin(), all.end()}};
        std::ranges::shuffle(one.hosts, random);
        one.hosts.resize(2 + pick(random, all.size() - 1));
        return one;
      },
      [](const SweepCase&, const Swept& swept) -> std::optional<bool> {
        return swept.report.diagnosis.verdict == Verdict::healthy;
      });
  add_count(figures, "partial_hosts_healthy", share);
}

namespace {

constexpr std::uint64_t kMinLost = 30;
constexpr double kNear = 1.5;         // a frequency, or a duration, is right within this factor
constexpr double kLongEnough = 0.05;  // seconds of an outage, from which its length can be told

bool is_near(double said, double is) { return said <= is * kNear && said >= is / kNear; }

const Causes kFlapCauses{Cause::down, Cause::loss};

/// Frequency and duration, where the cable is named as a link's or a host's. A set has no rhythm.
std::optional<bool> rhythm_is_right(const SweepCase& one, const Swept& swept) {
  const double on = std::chrono::duration<double>(*one.faults.front().on).count();
  const double off = std::chrono::duration<double>(*one.faults.front().off).count();
  if (on < kLongEnough || swept.report.lost < kMinLost) return std::nullopt;
  const auto right = [&](const auto& findings) -> std::optional<bool> {
    for (const auto& finding : findings) {
      if (finding.link != one.faults.front().link || finding.verdict <= Verdict::unknown) continue;
      return finding.intermittent && is_near(finding.intermittent->per_second, 1 / (on + off)) &&
             is_near(finding.intermittent->duration, on);
    }
    return std::nullopt;
  };
  const auto of_links = right(swept.report.diagnosis.links);
  return of_links ? of_links : right(swept.report.diagnosis.hosts);
}

/// By its name or in a set, as down or as loss; and nothing else is said of it by name.
std::optional<bool> flap_is_found(const SweepCase& one, const Swept& swept) {
  if (swept.report.lost < kMinLost) return std::nullopt;
  bool is_named = false;
  for (const Name& name : claims_in(one, swept).names) {
    if (!holds_cable(name.channels, one)) continue;
    if (!is_one_of(kFlapCauses, name.cause)) return false;
    is_named = true;
  }
  return is_named || is_in_a_set(one, swept, kFlapCauses);
}

struct Rhythm {
  double min_period = 0;  // seconds
  double max_period = 0;
  session::LoadLevel load = session::LoadLevel::full;
};

SweepCase flapping(const SmallFabric& fabric, Random& random, const Rhythm& rhythm) {
  FaultSpec fault = fault_on(any_channel(fabric.fabric, random), random() % 2 == 0);
  const double period = log_uniform(random, rhythm.min_period, rhythm.max_period);
  const double on = period * uniform(random, 0.02, 0.5);
  const auto nanoseconds = [](double seconds) { return Nanoseconds(std::llround(seconds * 1e9)); };
  fault.down = true;
  fault.on = nanoseconds(on);
  fault.off = nanoseconds(period - on);
  return {.fabric = &fabric, .faults = {fault}, .load = rhythm.load};
}

}  // namespace

void bench_flaps(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const auto run = [&](const Rhythm& rhythm, const std::vector<IsRight>& questions) {
    return run_cases(
        options, "flaps", options.seeds, fabrics,
        [&](const SmallFabric& fabric, Random& random) { return flapping(fabric, random, rhythm); },
        questions);
  };
  const auto shares = run({0.2, 5}, {flap_is_found, rhythm_is_right});
  if (shares[0].all > 0) figures.add("flap_named", shares[0].value(), ".95");
  figures.note("flap_cases", static_cast<double>(shares[0].all));
  if (shares[1].all > 0) figures.add("flap_rhythm", shares[1].value(), ".95");
  figures.note("flap_rhythm_cases", static_cast<double>(shares[1].all));
  // Periods as long as the run: mostly one outage falls into it.
  const Share slow = run({5, 10, session::LoadLevel::none}, {flap_is_found}).front();
  if (slow.all > 0) figures.add("flap_slow_named", slow.value(), ".95");
  figures.note("flap_slow_cases", static_cast<double>(slow.all));
}

void bench_excuse(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "excuse", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        const auto hosts = fabric.fabric.hosts();
        const auto milliseconds = [&](double low, double high) {
          return std::chrono::milliseconds(std::llround(uniform(random, low, high)));
        };
        const NodeId host = hosts[pick(random, hosts.size())];
        return SweepCase{.fabric = &fabric,
                         .stalls = {{host, milliseconds(0, 8000), milliseconds(100, 3000)}}};
      },
      [](const SweepCase&, const Swept& swept) -> std::optional<bool> {
        const Diagnosis& found = swept.report.diagnosis;
        if (found.verdict >= Verdict::degraded) return false;
        const auto is_blamed = [](const auto& finding) { return finding.verdict > Verdict::unknown; };
        return std::ranges::none_of(found.links, is_blamed) &&
               std::ranges::none_of(found.groups, is_blamed) && std::ranges::none_of(found.sets, is_blamed) &&
               std::ranges::none_of(found.hosts, [&](const HostFinding& finding) {
                 return is_blamed(finding) && finding.link.has_value();
               });
      });
  add_count(figures, "excuse_honest", share);
}

}  // namespace weft::bench
