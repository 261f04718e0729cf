#include "tests/bench/diagnosis/seeds.hpp"
#include "tests/bench/verdicts/cases.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::bench {
namespace {

std::string words_about(const SweepCase& one, const Swept& swept) {
  const Fabric& fabric = one.fabric->fabric;
  std::string text;
  for (const NodeId host : one.hosts) text += " " + fabric.name_of(host);
  for (const HostStall& stall : one.stalls)
    text += fmt::format("  {} stalls at {} for {}\n", fabric.name_of(stall.host),
                        weft::to_string(stall.start), weft::to_string(stall.length));
  text += fmt::format("  verdict {}\n", to_string(swept.report.diagnosis.verdict));
  for (const auto& line : words_of(fabric, swept.report.diagnosis))
    text += fmt::format("  found: {}\n", line);
  return text;
}

}  // namespace

std::vector<Share> run_cases(const VerdictOptions& options, const char* what, std::size_t count,
                             const std::vector<SmallFabric>& fabrics, const MakeCase& make,
                             const std::vector<IsRight>& questions) {
  struct Outcome {
    std::vector<std::optional<bool>> right;  // by question
    std::string text;
  };
  const auto outcomes = for_each_index(count, options.threads, [&](std::size_t i) {
    Random random(mix_bits(options.base + i));
    SweepCase one = make(fabrics[i % fabrics.size()], random);
    one.seed = options.base + i;
    const Swept swept = sweep_simulated(one);
    Outcome outcome;
    for (const IsRight& is_right : questions) {
      outcome.right.push_back(is_right(one, swept));
      if (outcome.right.back().value_or(true)) continue;
      outcome.text += fmt::format("\n{}, question {}: {}\n{}", what, outcome.right.size(), command_of(one),
                                  words_about(one, swept));
    }
    return outcome;
  });
  std::vector<Share> shares(questions.size());
  std::size_t shown = 0;
  for (const Outcome& outcome : outcomes) {
    for (std::size_t q = 0; q < questions.size(); ++q)
      if (outcome.right[q]) shares[q].add(*outcome.right[q]);
    if (!outcome.text.empty() && shown++ < options.show) fmt::print("{}", outcome.text);
  }
  return shares;
}

Share run_cases(const VerdictOptions& options, const char* what, std::size_t count,
                const std::vector<SmallFabric>& fabrics, const MakeCase& make, const IsRight& is_right) {
  return run_cases(options, what, count, fabrics, make, std::vector{is_right}).front();
}

std::vector<SmallFabric> fabrics_of(const VerdictOptions& options, const char* among) {
  std::vector<SmallFabric> fabrics = small_fabrics();
  std::erase_if(fabrics, [&](const SmallFabric& fabric) {
    return !VerdictOptions::wants(options.fabrics, fabric.name) || !VerdictOptions::wants(among, fabric.name);
  });
  return fabrics;
}

void add_count(Figures& figures, std::string_view figure, const Share& share) {
  if (share.all == 0) return;
  figures.add(figure, static_cast<double>(share.good), fmt::format("{0} of {0}", share.all));
}

ChannelId any_channel(const Fabric& fabric, Random& random) {
  return ChannelId(static_cast<std::uint32_t>(pick(random, fabric.channel_count())));
}

FaultSpec fault_on(ChannelId channel, bool whole_cable) {
  FaultSpec fault{.link = Fabric::link_of(channel)};
  if (!whole_cable) fault.channel = channel;
  return fault;
}

Fraction any_background(Random& random) { return Fraction(log_uniform(random, 1e-5, 1e-4)); }

}  // namespace weft::bench
