// The single cases of the benchmark: one fault of a stated kind in a small fabric, again and again by seed,
// the fabrics in turn.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "tests/bench/diagnosis/seeds.hpp"
#include "tests/bench/verdicts/claims.hpp"
#include "tests/bench/verdicts/judge.hpp"
#include "tests/bench/verdicts/pieces.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::bench {
namespace {

/// Null: the case says nothing (too little was lost), and is left out.
using IsRight = std::function<std::optional<bool>(const SweepCase&, const Swept&)>;
using MakeCase = std::function<SweepCase(const SmallFabric&, Random&)>;

/// The share of `count` cases that are right; prints those that are not.
Share run_cases(const VerdictOptions& options, const char* what, std::size_t count,
                const std::vector<SmallFabric>& fabrics, const MakeCase& make, const IsRight& is_right) {
  struct Outcome {
    std::optional<bool> right;
    std::string text;
  };
  const auto outcomes = for_each_index(count, options.threads, [&](std::size_t i) {
    Random random(mix_bits(options.base + i));
    SweepCase one = make(fabrics[i % fabrics.size()], random);
    one.seed = options.base + i;
    const Swept swept = sweep_simulated(one);
    Outcome outcome{is_right(one, swept), {}};
    if (outcome.right.value_or(true)) return outcome;
    outcome.text = fmt::format("\n{}: {}\n", what, command_of(one));
    for (const NodeId host : one.hosts) outcome.text += " " + one.fabric->fabric.name_of(host);
    for (const HostStall& stall : one.stalls)
      outcome.text += fmt::format("  {} stalls at {} for {}\n", one.fabric->fabric.name_of(stall.host),
                                  weft::to_string(stall.start), weft::to_string(stall.length));
    outcome.text += fmt::format("  verdict {}\n", to_string(swept.report.diagnosis.verdict));
    for (const auto& line : words_of(one.fabric->fabric, swept.report.diagnosis))
      outcome.text += fmt::format("  found: {}\n", line);
    return outcome;
  });
  Share share;
  std::size_t shown = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.right) share.add(*outcome.right);
    if (!outcome.text.empty() && shown++ < options.show) fmt::print("{}", outcome.text);
  }
  return share;
}

std::vector<SmallFabric> fabrics_of(const VerdictOptions& options, const char* among = "") {
  std::vector<SmallFabric> fabrics = small_fabrics();
  std::erase_if(fabrics, [&](const SmallFabric& fabric) {
    return !VerdictOptions::wants(options.fabrics, fabric.name) || !VerdictOptions::wants(among, fabric.name);
  });
  return fabrics;
}

/// As "97 of 100".
void add_count(Figures& figures, const char* figure, const Share& share) {
  if (share.all == 0) return;
  figures.add(figure, static_cast<double>(share.good), fmt::format("{0} of {0}", share.all));
}

Claims claims_in(const SweepCase& one, const Swept& swept) {
  return claims_of(one.fabric->fabric, swept.report.diagnosis);
}

ChannelId any_channel(const Fabric& fabric, Random& random) {
  return ChannelId(static_cast<std::uint32_t>(pick(random, fabric.channel_count())));
}

FaultSpec fault_on(ChannelId channel, bool whole_cable = false) {
  FaultSpec fault{.link = Fabric::link_of(channel)};
  if (!whole_cable) fault.channel = channel;
  return fault;
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

void bench_mtu(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options, "4x4,6x6");  // where a channel can be told from the others
  const Share share = run_cases(
      options, "mtu", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        FaultSpec fault = fault_on(any_channel(fabric.fabric, random), random() % 2 == 0);
        fault.mtu = Bytes(1500 + static_cast<std::int64_t>(pick(random, 4096 - 1500 + 1)));
        return SweepCase{.fabric = &fabric, .faults = {fault}};
      },
      [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
        const auto said = found_mtu(one, swept);
        return said && is_exact(*one.faults.front().mtu, *said, swept.observations);
      });
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
        // Or every cable by its name.
        const Claims claims = claims_in(one, swept);
        return std::ranges::all_of(one.faults, [&](const FaultSpec& fault) {
          return std::ranges::any_of(claims.names, [&](const Name& name) {
            return holds(name.channels, Fabric::a_to_b(fault.link)) ||
                   holds(name.channels, Fabric::b_to_a(fault.link));
          });
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

/// Frequency and duration, where they are said of the cable.
std::optional<bool> rhythm_is_right(const SweepCase& one, const Swept& swept) {
  const double on = std::chrono::duration<double>(*one.faults.front().on).count();
  const double off = std::chrono::duration<double>(*one.faults.front().off).count();
  if (on < kLongEnough || swept.report.lost < kMinLost) return std::nullopt;
  for (const LinkFinding& finding : swept.report.diagnosis.links) {
    if (finding.link != one.faults.front().link || finding.verdict <= Verdict::unknown) continue;
    return finding.intermittent && is_near(finding.intermittent->per_second, 1 / (on + off)) &&
           is_near(finding.intermittent->duration, on);
  }
  return std::nullopt;
}

bool found_cable(const SweepCase& one, const Swept& swept) {
  const Claims claims = claims_in(one, swept);
  const ChannelId channel = Fabric::a_to_b(one.faults.front().link);
  const auto is_it = [&](const auto& channels) {
    return holds(channels, channel) || holds(channels, Fabric::reverse(channel));
  };
  return std::ranges::any_of(claims.names, [&](const Name& name) { return is_it(name.channels); }) ||
         std::ranges::any_of(claims.sets, [&](const OpenClaim& set) {
           return set.alternatives.size() <= kMaxAlternatives && is_it(set);
         });
}

}  // namespace

void bench_flaps(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const auto make = [&](const SmallFabric& fabric, Random& random) {
    FaultSpec fault = fault_on(any_channel(fabric.fabric, random), random() % 2 == 0);
    const double period = log_uniform(random, 0.2, 5);
    const double on = period * uniform(random, 0.02, 0.5);
    const auto nanoseconds = [](double seconds) { return Nanoseconds(std::llround(seconds * 1e9)); };
    fault.down = true;
    fault.on = nanoseconds(on);
    fault.off = nanoseconds(period - on);
    return SweepCase{.fabric = &fabric, .faults = {fault}};
  };
  const Share named = run_cases(options, "flaps", options.seeds, fabrics, make,
                                [](const SweepCase& one, const Swept& swept) -> std::optional<bool> {
                                  if (swept.report.lost < kMinLost) return std::nullopt;
                                  return found_cable(one, swept);
                                });
  if (named.all > 0) figures.add("flap_named", named.value(), ".95");
  figures.note("flap_cases", static_cast<double>(named.all));
  const Share rhythm = run_cases(options, "flap rhythm", options.seeds, fabrics, make, rhythm_is_right);
  if (rhythm.all > 0) figures.add("flap_rhythm", rhythm.value(), ".95");
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
