// Acceptance: sweeps of a real lab with one fault each, on channels between switches drawn by seed, and of
// the healthy lab. Counts the sweeps that name exactly that channel with that cause and nothing else, and of
// the healthy lab those that name nothing; which of them this machine disturbed is told. Of the others the
// observations stay beside the figures, for `weft diagnose`. usage: bench_acceptance [RUNS_PER_KIND (100)]
// [KIND...]; the kind loss01 (0.1 % with a budget of a minute) runs when it is named.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/weft_command.hpp"
#include "tests/support/sweep_document.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

struct Kind {
  std::string name;
  std::vector<std::string> fault;  // options of `weft lab fault`
  bool one_way = true;
  std::string cause = {};  // named; empty: as the kind
  std::string budget = "5s";
  bool by_name_only = false;  // takes too long to run unasked
};

const std::vector<Kind> kKinds{
    {"loss", {"--loss", "0.5%"}},
    {"rate", {"--rate", "25M"}},
    {"congestion", {"--load", "40M"}},
    {"delay", {"--delay", "2ms"}},
    {"mtu", {"--mtu", "1000"}},
    {"down", {"--down"}, false},
    {"healthy", {}, false},
    {.name = "loss01", .fault = {"--loss", "0.1%"}, .cause = "loss", .budget = "60s", .by_name_only = true},
};

/// All that a sweep says of a fabric but its counts.
std::string told(const nlohmann::json& found) {
  std::string text;
  for (const char* member :
       {"verdict", "links", "hosts", "groups", "sets", "fabric_wide", "account", "coverage"})
    text += fmt::format(" {}: {}", member, found[member].dump());
  return text;
}

/// The one finding is the fault, and there is no other.
bool is_right(const nlohmann::json& found, const Kind& kind, const std::string& link,
              const std::string& from) {
  if (!found.is_object()) return false;
  if (kind.name == "healthy")
    return names_nothing(found) && (found["verdict"] == "healthy" || is_disturbed_by_this_machine(found));
  if (!found["hosts"].empty() || !found["groups"].empty()) return false;
  if (found["links"].size() != 1) return false;
  const auto& finding = found["links"][0];
  const bool way = !kind.one_way || finding.value("from", "") == from;
  return finding["link"] == link && finding["cause"] == (kind.cause.empty() ? kind.name : kind.cause) &&
         finding["verdict"] != "unknown" && way;
}

int measure(const Kind& kind, int runs, const std::string& lab, const Fabric& fabric, Figures& figures) {
  std::mt19937_64 random(std::hash<std::string>{}(kind.name));
  std::vector<ChannelId> channels;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    if (fabric.between_switches(ChannelId(c))) channels.emplace_back(c);
  int right = 0;
  for (int run = 0; run < runs; ++run) {
    const ChannelId channel = channels[random() % channels.size()];
    const std::string link = fabric.name_of(Fabric::link_of(channel));
    const std::string from = fabric.name_of(fabric.source_node(channel));
    if (!kind.fault.empty()) {
      std::vector<std::string> arguments{"lab", "fault", link, "--name", lab};
      arguments.insert(arguments.end(), kind.fault.begin(), kind.fault.end());
      if (kind.one_way) arguments.insert(arguments.end(), {"--from", from});
      weft_output(arguments);
    }
    const auto seed = std::to_string(run + 1);
    const auto seen = bench_folder() / fmt::format("acceptance-{}-{}.jsonl", kind.name, seed);
    const auto text = weft_output({"sweep", "--lab=" + lab, "--budget", kind.budget, "--seed", seed, "-o",
                                   "json", "--observations", seen});
    const auto found = nlohmann::json::parse(text, nullptr, false);
    const bool ok = is_right(found, kind, link, from);
    right += ok;
    if (ok && kind.name == "healthy" && found["verdict"] != "healthy")
      print_disturbance("whole fabric and account", {found["fabric_wide"], found["account"]});
    if (ok)
      std::filesystem::remove(seen);
    else
      fmt::print(stderr, "{} {} from {}, seen as in {}:{}\n", kind.name, link, from, seen.string(),
                 found.is_object() ? told(found) : " no answer: " + text);
    weft_output({"lab", "heal", "--name", lab});
  }
  if (kind.name == "healthy")
    figures.add("false_healthy", runs - right, "0");
  else
    figures.add("right_" + kind.name, 100.0 * right / runs, "97 of 100");
  return right;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft;
  using namespace weft::bench;
  const std::vector<std::string> given(argv + 1, argv + argc);
  const int runs = given.empty() ? 100 : std::max(1, std::atoi(given[0].c_str()));
  int at_least = 0;
  std::vector<std::string> only;
  for (std::size_t i = 1; i < given.size(); ++i) {
    if (given[i] == "--at-least" && i + 1 < given.size())
      at_least = std::atoi(given[++i].c_str());
    else
      only.push_back(given[i]);
  }
  const auto fabric = make_clos({.name = "roce-a", .leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto lab = fmt::format("accept{}", getpid());
  const auto file = std::filesystem::temp_directory_path() / (lab + ".yaml");
  std::ofstream(file) << "fabric: roce-a\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: "
                         "400G}\nlab: {link_rate: 50M}\n";
  weft_output({"lab", "up", file, "--name", lab});
  Figures figures("acceptance");
  if (only.empty()) figures.add("runs_per_kind", runs);
  int right = 0;
  for (const Kind& kind : kKinds)
    if (only.empty() ? !kind.by_name_only : std::ranges::find(only, kind.name) != only.end())
      right += measure(kind, runs, lab, *fabric, figures);
  weft_output({"lab", "down", "--name", lab});
  std::filesystem::remove(file);
  if (!only.empty()) figures.keep_earlier();
  const int status = figures.write();
  if (right >= at_least) return status;
  fmt::print(stderr, "only {} sweeps were right; at least {} were to be\n", right, at_least);
  return 1;
}
