#include "probes/session/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr std::size_t kShown = 4;

bool has_device(const OfferOfNic& offered) { return !offered.offer.rdma_device.empty(); }

std::string names_of(const Fabric& fabric, const std::vector<EngineChoice::Unfit>& unfit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(unfit.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + fabric.name_of_nic(unfit[i].nic);
  return unfit.size() > kShown ? fmt::format("{} and {} more", text, unfit.size() - kShown) : text;
}

std::string why_unfit(const OfferOfNic& offered, bool by_queue_pairs) {
  if (by_queue_pairs)
    return fmt::format("{}, and the others of this run send by queue pairs",
                       offered.offer.why.empty() ? "it has no RDMA device" : offered.offer.why);
  return fmt::format(
      "its RDMA device {} takes what raw packets are answered by, and most of this run have none",
      offered.offer.rdma_device);
}

using Agent = AgentRoster::Agent;
using State = AgentRoster::State;

std::vector<OfferOfNic> offers_of(const AgentRoster& roster) {
  std::vector<OfferOfNic> offers;
  for (const auto& [name, agent] : roster.agents()) {
    if (agent.state != State::offering) continue;
    for (const NicAssignment& nic : agent.expected.nics) {
      const auto offer = std::ranges::find(agent.offers, nic.interface, &NicOffer::interface);
      offers.push_back({nic.nic, offer == agent.offers.end() ? NicOffer{} : *offer});
    }
  }
  return offers;
}

}  // namespace

std::string_view kind_of_engine(std::string_view engine) {
  if (engine == kDpdkEngine) return kRawEngine;
  return engine == kIbsimEngine ? kUmadEngine : engine;
}

EngineChoice choose_engine(const Fabric& fabric, const std::vector<OfferOfNic>& offers) {
  const auto all = offers.size();
  const auto with = static_cast<std::size_t>(std::ranges::count_if(offers, has_device));
  const bool by_queue_pairs = with > 0 && 2 * with >= all;
  EngineChoice choice{by_queue_pairs ? kVerbsEngine : kRawEngine, {}, {}};
  for (const OfferOfNic& offered : offers)
    if (has_device(offered) != by_queue_pairs)
      choice.unfit.push_back({offered.nic, why_unfit(offered, by_queue_pairs)});
  if (with == all)
    choice.why = fmt::format("each of the {} NICs has an RDMA device", all);
  else if (with == 0)
    choice.why = fmt::format("none of the {} NICs has an RDMA device", all);
  else
    choice.why = fmt::format("{} of {} NICs have an RDMA device; not tested: {}", with, all,
                             names_of(fabric, choice.unfit));
  return choice;
}

std::optional<EngineOfRun> choose_engine_of_run(const Fabric& fabric, AgentRoster& roster) {
  if (roster.count(State::awaited) > 0) return std::nullopt;
  const auto offers = offers_of(roster);
  if (offers.empty()) return std::nullopt;
  EngineOfRun run{choose_engine(fabric, offers), {}, {}, {}};
  std::map<PortId, std::string> unfit;
  for (const auto& [nic, why] : run.choice.unfit) unfit.emplace(nic, why);
  const auto is_unfit = [&](const NicAssignment& nic) { return unfit.contains(nic.nic); };
  for (auto& [name, agent] : roster.agents()) {
    if (agent.state != State::offering) continue;
    agent.state = State::starting;  // no offer any more
    auto& nics = agent.expected.nics;
    if (std::ranges::all_of(nics, is_unfit)) {
      run.useless.push_back({name, unfit.at(nics.front().nic)});
      continue;
    }
    for (NicAssignment& nic : nics) {
      nic.engine = run.choice.engine;
      if (is_unfit(nic)) run.left_out.push_back({agent.expected.host, nic.nic, unfit.at(nic.nic)});
    }
    std::erase_if(nics, is_unfit);
    run.starting.push_back(name);
  }
  return run;
}

std::vector<UselessAgent> of_other_engines(const AgentRoster& roster) {
  const auto is_told = [](const Agent& agent) {
    return agent.state == State::ready && !agent.engine.empty() && agent.engine != kAnyEngine;
  };
  std::map<std::string_view, std::size_t> nics;  // by the kind of their engine
  for (const auto& [name, agent] : roster.agents())
    if (is_told(agent)) nics[kind_of_engine(agent.engine)] += agent.expected.nics.size();
  std::vector<UselessAgent> others;
  if (nics.size() < 2) return others;
  const auto most = std::ranges::max_element(nics, {}, &decltype(nics)::value_type::second)->first;
  for (const auto& [name, agent] : roster.agents())
    if (is_told(agent) && kind_of_engine(agent.engine) != most)
      others.push_back(
          {name,
           fmt::format("its agent probes by {}, and those of most NICs by {}: neither answers the other",
                       agent.engine, most)});
  return others;
}

}  // namespace weft::session
