#include "tests/bench/mapping/lab64.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cli/lab_place.hpp"
#include "tests/bench/support/weft_command.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"

namespace weft::bench {
namespace {

constexpr int kAlternations = 10;
constexpr int kLimitedRuns = 5;
constexpr std::size_t kPairs = 64;
constexpr std::size_t kPaths = 4;

Fabric four_by_four() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

struct Mapped {
  double complete = 0;  // pairs of which every path was seen
  double packets = 0;
  double seconds = 0;  // first probe to last answer
  double whole_s = 0;  // the command, or the program
};

/// The last lines of the table: "64 of 64 pairs: every path seen; 690 probes in 0.21 s".
Mapped by_weft(const TestLab& lab) {
  Mapped mapped;
  std::string said;
  mapped.whole_s =
      milliseconds([&] {
        said = weft_output({"trace", "host[1-8]", "host[9-16]", "--lab=" + lab->name(), "--every-path"});
      }) /
      1e3;
  static const std::regex kSummary(
      R"((\d+)\s+of\s+\d+\s+pairs:\s+every\s+path\s+seen;\s+(\d+)\s+probes\s+in\s+([0-9.]+)\s+s)");
  std::smatch found;
  if (!std::regex_search(said, found, kSummary)) {
    fmt::print(stderr, "bench_mapping: no summary in: {}\n", said.substr(0, 400));
    return mapped;
  }
  mapped.complete = std::stod(found[1]);
  mapped.packets = std::stod(found[2]);
  mapped.seconds = std::stod(found[3]);
  return mapped;
}

/// scamper's MDA at 99 %, all pairs of a source by one process, sources side by side; and what it printed.
/// Not to port 4791: hosts of a lab say nothing to what comes there, and it would wait for their answer.
Mapped by_scamper(const TestLab& lab) {
  Mapped mapped;
  std::vector<std::string> outputs(8);
  std::string script;
  std::string to;
  for (int host = 9; host <= 16; ++host)
    to += " " + to_string(*lab->addresses().book.address_of(lab.nic(fmt::format("host{}", host))));
  const auto folder = bench_folder();
  for (int host = 1; host <= 8; ++host)
    script += fmt::format(
        "nsenter --net={} scamper -p 1000 -O json -o {}/scamper-{}.json -c "
        "'tracelb -P udp-sport -c 99' -i{} & ",
        lab->namespace_of(lab.node(fmt::format("host{}", host))).string(), folder.string(), host, to);
  mapped.whole_s =
      milliseconds([&] {
        static_cast<void>(os::run_program({"sh", "-c", script + "wait"}, "", std::chrono::seconds(120)));
      }) /
      1e3;
  mapped.seconds = mapped.whole_s;
  for (int host = 1; host <= 8; ++host) {
    const auto text = os::run_program({"cat", fmt::format("{}/scamper-{}.json", folder.string(), host)}, "",
                                      std::chrono::seconds(5));
    if (!text) continue;
    for (std::size_t from = 0; from < text->size();) {
      const auto end = std::min(text->find('\n', from), text->size());
      const auto line = nlohmann::json::parse(text->substr(from, end - from), nullptr, false);
      from = end + 1;
      if (!line.is_object() || line.value("type", "") != "tracelb") continue;
      mapped.packets += line.value("probec", 0);
      std::set<std::string> spines;  // the first list of links is of those that the first switch has
      const auto nodes = line.value("nodes", nlohmann::json::array());
      const auto links = nodes.empty() ? nodes : nodes[0].value("links", nlohmann::json::array());
      if (!links.empty())
        for (const auto& one : links[0]) spines.insert(one.value("addr", ""));
      mapped.complete += spines.size() == kPaths ? 1 : 0;
    }
  }
  return mapped;
}

/// At each switch 100 time-exceeded answers a second, and 5 % of them lost.
void limit_answers(const TestLab& lab) {
  constexpr const char* kRules =
      "table inet answers { chain out { type filter hook output priority 0; "
      "icmp type time-exceeded numgen random mod 100 < 5 drop; "
      "icmp type time-exceeded limit rate over 100/second burst 5 packets drop\n}\n}\n";
  for (const Node& node : lab.fabric().nodes())
    if (node.kind == NodeKind::switch_)
      if (const auto ok = lab.run_in(node.name, {"nft", kRules}); !ok)
        fmt::print(stderr, "bench_mapping: {}\n", ok.error().message);
}

struct CheckedLabels {
  std::size_t all = 0;
  std::size_t open = 0;   // of which the map says several paths: the answer that decides was lost
  std::size_t wrong = 0;  // of which it does not say the kernel's own (`ip route get`)
};

/// The labels of a whole map.
CheckedLabels check_labels(const TestLab& lab) {
  const auto document = nlohmann::json::parse(
      weft_output({"trace", "host[1-8]", "host[9-16]", "--lab=" + lab->name(), "--every-path", "-o", "json"}),
      nullptr, false);
  CheckedLabels checked;
  if (!document.is_object()) return {.wrong = 1};
  for (const auto& pair : document["pairs"]) {
    std::map<std::uint16_t, std::set<std::vector<std::string>>> paths;
    for (const auto& way : pair["paths"])
      for (const auto& label : way["labels"])
        paths[label.get<std::uint16_t>()].insert(way["path"].get<std::vector<std::string>>());
    for (const auto& [label, said] : paths) {
      std::vector<std::string> names;
      for (const ChannelId channel :
           kernel_path(lab, pair["src"].get<std::string>(), pair["dst"].get<std::string>(), label))
        names.push_back(lab.fabric().name_of(channel));
      ++checked.all;
      checked.open += said.size() > 1 ? 1 : 0;
      checked.wrong += said.contains(names) ? 0 : 1;
    }
  }
  return checked;
}

void print(const char* who, const Mapped& mapped) {
  fmt::print("  {}: {} of {} pairs, {} packets, {:.2f} s, whole {:.2f} s\n", who, mapped.complete, kPairs,
             mapped.packets, mapped.seconds, mapped.whole_s);
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

void measure_lab64(Figures& figures) {
  if (geteuid() != 0) return fmt::print("  lab64: needs root\n");
  const TestLab lab(four_by_four(), {}, cli::lab_state_root());
  const bool has_scamper =
      os::run_program({"sh", "-c", "command -v scamper"}, "", std::chrono::seconds(5)).has_value();
  std::vector<double> seconds, whole, packets, scamper_s, scamper_packets;
  double complete = 0;
  for (int i = 0; i < kAlternations; ++i) {
    const Mapped ours = by_weft(lab);
    print("weft", ours);
    if (i < 5 && ours.complete == kPairs) complete += 1;
    seconds.push_back(ours.seconds);
    whole.push_back(ours.whole_s);
    packets.push_back(ours.packets);
    if (!has_scamper) continue;
    const Mapped theirs = by_scamper(lab);
    print("scamper", theirs);
    scamper_s.push_back(theirs.seconds);
    scamper_packets.push_back(theirs.packets);
  }
  figures.add("map64_complete", complete, "5 of 5");
  figures.add("map64_packets", median(packets));
  figures.add("map64_s", median(seconds));
  figures.add("map64_command_s", median(whole));
  if (has_scamper) {
    figures.add("map64_packets_vs_scamper", median(packets) / median(scamper_packets), "at most .35");
    figures.add("map64_speedup", median(scamper_s) / median(seconds), "20");
  } else {
    fmt::print("  scamper is not installed: nothing to compare with\n");
  }
  const CheckedLabels plain = check_labels(lab);
  figures.add("map64_false_labels", static_cast<double>(plain.wrong), "0");
  figures.add("map64_labels_checked", static_cast<double>(plain.all));
  limit_answers(lab);
  double limited = 0;
  for (int i = 0; i < kLimitedRuns; ++i) {
    const Mapped ours = by_weft(lab);
    print("weft, 100 answers/s, 5 % lost", ours);
    limited += ours.complete == kPairs ? 1 : 0;
  }
  figures.add("map64_limited_complete", limited, "5 of 5");
  const CheckedLabels few = check_labels(lab);
  figures.add("map64_limited_false_labels", static_cast<double>(few.wrong), "0");
  figures.add("map64_limited_open_labels", static_cast<double>(few.open));
  figures.add("map64_limited_labels_checked", static_cast<double>(few.all));
}

}  // namespace weft::bench
