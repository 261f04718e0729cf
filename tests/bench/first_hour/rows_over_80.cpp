// rows_over_80: every table that weft prints of the demo's fabric, of a rails and of a three-tier one, in a
// pipe, which is 80 columns; names as the generator gives them, and of 24 characters.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/pages.hpp"
#include "tests/bench/first_hour/pieces.hpp"
#include "tests/bench/support/weft_command.hpp"
#include "topology/base/text.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kNameLength = 24;

struct Case {
  std::string name;
  std::string yaml;
};

const std::vector<Case> kCases{
    {"demo", "fabric: roce-a\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\n"},
    {"rails", "fabric: rails-b\nrails: {groups: 2, hosts_per_group: 4, rails: 8, spines: 8}\n"},
    {"pods", "fabric: pods-c\nclos: {pods: 4, leaves: 2, spines: 2, cores: 4, hosts_per_leaf: 4}\n"},
};

/// Every name filled up in front of its number: "dc1-row4-rack-leaf-00001".
std::string long_name(const std::string& name) {
  const auto digits = name.find_first_of("0123456789");
  const std::string filling = "dc1-row4-rack-unit-";
  const std::string number = name.substr(digits);
  std::string made = filling.substr(0, kNameLength - 6 - (digits > 5 ? 1 : 0)) +
                     name.substr(0, std::min<std::size_t>(digits, 2));
  return made + std::string(kNameLength - made.size() - number.size(), '0') + number;
}

/// The file of `fabric` node by node; with long names, its switches' ports have names too.
std::string explicit_file(const Fabric& fabric, bool long_names) {
  const auto name = [&](NodeId node) {
    return long_names ? long_name(fabric.name_of(node)) : fabric.name_of(node);
  };
  std::string text = fmt::format("fabric: {}\nnodes:\n", fabric.name());
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    text +=
        fmt::format("  - {{name: {}, kind: {}, tier: {}}}\n", name(NodeId(n)),
                    fabric.is_host(NodeId(n)) ? "host" : "switch", to_string(fabric.node(NodeId(n)).tier));
  text += "links:\n";
  const auto end = [&](PortId id) {
    const Port& port = fabric.port(id);
    const bool named = long_names && !fabric.is_host(port.node);
    return fmt::format("{}/{}{}", name(port.node), named ? "Ethernet1/" : "p", port.number.value());
  };
  for (const Link& link : fabric.links())
    text += fmt::format("  - {{a: {}, b: {}}}\n", end(link.a), end(link.b));
  return text;
}

struct Rows {
  std::size_t all = 0;
  std::size_t over = 0;
};

void count(const std::vector<std::string>& words, Rows& rows) {
  std::istringstream lines(weft_output(words));
  for (std::string line; std::getline(lines, line); ++rows.all)
    if (columns_of(line) > kColumns) {
      ++rows.over;
      fmt::print("  {} columns: {}\n", columns_of(line), line);
    }
}

/// Faults of every cause, on links between switches and of hosts.
std::vector<std::string> faults(const Fabric& fabric) {
  std::vector<std::string> words;
  const auto add = [&](std::size_t link, const char* what) {
    words.insert(
        words.end(),
        {"--fault", fmt::format("{}:{}", fabric.name_of(LinkId(static_cast<std::uint32_t>(link))), what)});
  };
  const std::size_t last = fabric.link_count() - 1;
  add(last, "loss=2%");
  add(last - 2, "rate=100G");
  add(last - 4, "down");
  add(last - 6, "delay=1ms");
  add(last - 8, "mtu=1500");
  add(0, "loss=1%");
  add(1, "down");
  return words;
}

void run_commands(const Fabric& fabric, const std::string& file, Rows& rows) {
  const std::string first = fabric.name_of_nic(fabric.nics().front());
  const std::string last = fabric.name_of_nic(fabric.nics().back());
  std::vector<std::string> faulty{"simulate", file};
  const auto added = faults(fabric);
  faulty.insert(faulty.end(), added.begin(), added.end());
  auto all = faulty;
  all.emplace_back("--all");
  const std::vector<std::vector<std::string>> commands{
      {"topology", "show", file},
      {"topology", "check", file},
      faulty,
      all,
      {"simulate", file},
      {"simulate", file, "--pattern", "incast"},
      {"trace", first, last, "--fabric", file, "--simulate"},
      {"balance", "--fabric", file, "--collective", "all-reduce", "--hosts", "4", "--qps", "2"},
      {"balance", "--fabric", file, "--collective", "all-to-all", "--hosts", "8"},
      {"balance", "--fabric", file, "--place", "tensor:2:10GB", "--place", "data:2:2GB"},
      {"simulate", file, "--collective", "ring", "--hosts", "4"},
      {"simulate", file, "--collective", "all-reduce", "--hosts", "4"},
      {"simulate", file, "--collective", "ring", "--hosts", "4", "--packets", "--bytes", "1MB"},
  };
  for (const auto& words : commands) count(words, rows);
}

/// What a run leaves, read by the commands after it. Without `gate --file`: its one line is the reason that a
/// prolog gives to Slurm, which stays whole.
void run_later_commands(const Fabric& fabric, const std::string& file, Rows& rows) {
  const auto scratch = [](const char* name) { return (bench_folder() / name).string(); };
  const auto observations = scratch("rows.jsonl"), run = scratch("rows.json"), ledger = scratch("rows.db");
  const auto gate = scratch("rows.gate");
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(ledger + part);
  std::vector<std::string> simulated{"simulate", file, "--observations", observations, "--save", run};
  for (auto& word : faults(fabric)) simulated.push_back(std::move(word));
  const std::string host = fabric.name_of(fabric.hosts().front());
  std::vector<std::vector<std::string>> commands{
      std::move(simulated),
      {"diagnose", "--fabric", file, "--observations", observations},
      {"blacklist", "update", run, "--ledger", ledger, "--fabric", file},
      {"blacklist", "add", host, "--for", "2h", "--reason", "new optics in the whole rack", "--ledger",
       ledger, "--fabric", file},
      {"blacklist", "list", "--ledger", ledger, "--fabric", file},
      {"blacklist", "history", "--ledger", ledger, "--fabric", file},
      {"gate", "publish", run, "--fabric", file, "--file", gate},
      {"plan", file, "--job", "8"},
      {"topology", "show", "--host"},
      {"topology", "show", "--nics"},
      {"doctor"},
      {"doctor", "--hosts", host + ",no-such-host-of-24-letters", "--launcher", "false {host}"},
      {"lab", "status"},
      {"config", "sweep"},
      {"nccl", "qps"},
  };
  for (const auto& words : commands) count(words, rows);
}

void help_pages(Rows& rows) {
  count({"--help"}, rows);
  for (const cli::CommandPage& page : cli::command_pages()) {
    auto words = page.words;
    words.emplace_back("--help");
    count(words, rows);
  }
}

}  // namespace

void rows_over_80(Figures& figures) {
  Rows rows;
  for (const Case& one : kCases)
    for (const bool long_names : {false, true}) {
      const auto short_form = files::parse_fabric_file(one.yaml, one.name);
      if (!short_form) continue;
      const auto path = bench_folder() / fmt::format("rows_over_80_{}.yaml", one.name);
      std::ofstream(path) << explicit_file(short_form->fabric, long_names);
      const auto file = files::read_fabric_file(path.string());
      if (!file) {
        fmt::print(stderr, "{}\n", file.error().message);
        rows.over += 1;
        continue;
      }
      run_commands(file->fabric, path.string(), rows);
      run_later_commands(file->fabric, path.string(), rows);
    }
  help_pages(rows);
  figures.add("rows_over_80_of", static_cast<double>(rows.all));
  figures.add("rows_over_80", static_cast<double>(rows.over), "0");
}

}  // namespace weft::bench
