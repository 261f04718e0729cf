#include "collectors/report/sending.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "topology/base/text.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

constexpr double kLoads = 0.05;  // of a channel: what large probes of a sweep may take at most
constexpr std::size_t kIndent = 4;

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::string rate_text(Bandwidth rate) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}};
  for (const auto& [unit, name] : kUnits)
    if (rate.bits_per_second() >= unit) return fmt::format("{:.3g} {}", rate.bits_per_second() / unit, name);
  return fmt::format("{:.3g} kbit/s", rate.bits_per_second() / 1e3);
}

/// Less than the table shows is not nothing.
std::string percent_text(double share) {
  if (share > 0 && share < 1e-4) return "<.01";
  return fmt::format("{:.2f}", share * 100);
}

std::string row(const plan::StageSending& stage) {
  return fmt::format("{:<14}{:>6}{:>9.1f}{:>11}{:>13}{:>13}{:>7.0f}{:>6}\n", stage.stage,
                     stage.size ? std::to_string(stage.size->count()) : "-", seconds(stage.time),
                     stage.packets, rate_text(stage.nic), rate_text(stage.node), stage.answers_per_second,
                     percent_text(stage.share));
}

files::DocumentTree tree_of(const Fabric& fabric, const plan::StageSending& stage) {
  files::DocumentTree tree{{"stage", stage.stage}};
  if (stage.size) tree["size_bytes"] = stage.size->count();
  tree["seconds"] = seconds(stage.time);
  tree["packets"] = stage.packets;
  tree["bytes"] = stage.bytes;
  tree["nic_bits_per_second"] = stage.nic.bits_per_second();
  tree["switch_bits_per_second"] = stage.node.bits_per_second();
  tree["switch_answers_per_second"] = stage.answers_per_second;
  tree["channel_share"] = stage.share;
  if (stage.fullest) tree["channel"] = fabric.name_of(*stage.fullest);
  return tree;
}

}  // namespace

std::vector<std::string> noticed_by_jobs(const Fabric& fabric, const plan::SendingPlan& plan) {
  const plan::StageSending* probes = nullptr;  // the fullest stage that does not load
  const plan::StageSending* loads = nullptr;
  double answers = 0;
  for (const plan::StageSending& stage : plan.stages) {
    auto& fullest = stage.share > kLoads && !stage.size ? loads : probes;
    if (!fullest || stage.share > fullest->share) fullest = &stage;
    answers = std::max(answers, stage.answers_per_second);
  }
  std::vector<std::string> said;
  if (probes && probes->fullest)
    said.push_back(fmt::format("probes take at most {} % of any channel ({}, while {})",
                               percent_text(probes->share), fabric.name_of(*probes->fullest), probes->stage));
  if (loads && loads->fullest)
    said.push_back(
        fmt::format("load takes up to {:.0f} % of channels ({} first), for {:.1f} s in all: a job there "
                    "gets what is left; --load none sends none",
                    loads->share * 100, fabric.name_of(*loads->fullest), seconds(loads->time)));
  if (answers > 0)
    said.push_back(
        fmt::format("no switch is asked for more than {:.0f} answers to traces a second, which its "
                    "control processor sends",
                    answers));
  return said;
}

std::string sending_table(const Fabric& fabric, const DryRun& run, std::size_t columns) {
  std::string text =
      wrapped(fmt::format("fabric {}: dry run: {} NICs of {} hosts would send for {:.1f} s; nothing was sent",
                          fabric.name(), run.plan.nics.size(), run.hosts, seconds(run.plan.time())),
              0, columns);
  text += fmt::format("\n{:<14}{:>6}{:>9}{:>11}{:>13}{:>13}{:>7}{:>6}\n", "STAGE", "BYTES", "SECONDS",
                      "PACKETS", "A NIC", "A SWITCH", "ASKED", "%");
  for (const plan::StageSending& stage : run.plan.stages) text += row(stage);
  text += wrapped(
      "A NIC: what the busiest sends, echoes included; A SWITCH: what crosses the busiest; ASKED: "
      "answers to traces a second, of the switch asked most; %: of the fullest channel",
      0, columns);
  text += "\n" + wrapped("agents: " + run.agents, 0, columns) + wrapped("engine: " + run.engine, 0, columns) +
          wrapped("marking: " + run.marking, 0, columns);
  text += "a running job would notice:\n";
  for (const std::string& what : noticed_by_jobs(fabric, run.plan)) text += wrapped(what, kIndent, columns);
  return text + wrapped("more only where something is suspected: a second round over it", kIndent, columns);
}

std::string sending_json(const Fabric& fabric, const DryRun& run, const files::DocumentStamp& stamp) {
  auto tree = files::stamped_tree("weft.dryrun/1", stamp);
  tree["fabric"] = fabric.name();
  tree["hosts"] = run.hosts;
  tree["seconds"] = seconds(run.plan.time());
  for (const auto& [name, words] :
       {std::pair{"agents", &run.agents}, {"engine", &run.engine}, {"marking", &run.marking}})
    tree[name] = *words;
  tree["stages"] = files::DocumentTree::array();
  for (const plan::StageSending& stage : run.plan.stages) tree["stages"].push_back(tree_of(fabric, stage));
  tree["nics"] = files::DocumentTree::array();
  for (const auto& [nic, sends] : run.plan.nics)
    tree["nics"].push_back({{"nic", fabric.name_of_nic(nic)},
                            {"packets", sends.packets},
                            {"bytes", sends.bytes},
                            {"bits_per_second", sends.most.bits_per_second()}});
  tree["switches"] = files::DocumentTree::array();
  for (const auto& [node, load] : run.plan.switches)
    tree["switches"].push_back({{"switch", fabric.name_of(node)},
                                {"bits_per_second", load.most.bits_per_second()},
                                {"answers_per_second", load.answers_per_second}});
  tree["noticed"] = noticed_by_jobs(fabric, run.plan);
  return files::document_text(tree) + "\n";
}

}  // namespace weft::report
