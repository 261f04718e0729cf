#include "tests/support/pasted_examples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/pages.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

constexpr int kUsage = 64;
constexpr int kInternal = 70;
constexpr int kTimedOut = 124;
constexpr int kNotRun = 126;  // and 127; from 128 on: by a signal

constexpr std::string_view kFabric =
    "fabric: roce-a\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\nlab: {link_rate: 50M}\n";
void write(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

/// gpu001 to gpu064, and gpu100, under one leaf.
std::string of_gpu_hosts(std::string_view head) {
  std::string nodes = fmt::format("{}nodes:\n  - {{name: leaf1, kind: switch, tier: leaf}}\n", head);
  std::string links = "links:\n";
  for (int port = 1; port <= 65; ++port) {
    const auto name = fmt::format("gpu{:03}", port == 65 ? 100 : port);
    nodes += fmt::format("  - {{name: {}, kind: host}}\n", name);
    links += fmt::format("  - {{a: {}/p1, b: leaf1/p{}, rate: 400G}}\n", name, port);
  }
  return nodes + links;
}

/// Of which watch.db tells.
const Fabric& kept_fabric() {
  static const Fabric fabric =
      make_clos({.name = "roce-a", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  return fabric;
}

std::vector<Example> all_examples() {
  std::vector<Example> all;
  std::set<std::string> seen;
  for (const auto& page : cli::command_pages()) {
    std::istringstream lines(page.examples);
    std::string whole;
    for (std::string line; std::getline(lines, line);) {
      whole += line.substr(std::min(line.find_first_not_of(' '), line.size()));
      if (whole.ends_with('\\')) {
        whole.pop_back();
        continue;
      }
      if (!whole.empty() && seen.insert(whole).second) all.push_back({page.title(), whole});
      whole.clear();
    }
  }
  return all;
}

bool is_of_a_lab(const Example& example) {
  return example.line.find("--lab") != std::string::npos ||
         example.line.find("weft lab") != std::string::npos;
}

constexpr const char* kLabs =
    "mount -t tmpfs none /run && mkdir -p /run/netns && export XDG_RUNTIME_DIR=/run && ip link set lo up\n"
    "for lab in default mine demo; do weft lab up fabric.yaml --name $lab > up; done\n"
    "trap 'for lab in default mine demo a b; do weft lab down --force --name $lab > down 2>&1; done' EXIT\n";

/// A lab that an example ends is made again before the next needs it.
std::string again(const std::string& line) {
  if (line.find("--lab=a") != std::string::npos)
    return "for lab in a b; do weft lab up $lab.yaml --name $lab > up; done\n" + line;
  return line.starts_with("weft lab down") || line.starts_with("weft lab up")
             ? line
             : "for lab in default mine demo; do weft lab up fabric.yaml --name $lab > up; done\n" + line;
}

}  // namespace

std::vector<Example> examples_on_their_own() {
  auto all = all_examples();
  std::erase_if(all, is_of_a_lab);
  return all;
}

std::vector<Example> examples_of_labs() {
  auto all = all_examples();
  std::erase_if(all, [](const Example& example) { return !is_of_a_lab(example); });
  return all;
}

bool Pasted::failed() const {
  return status == kUsage || status == kInternal || status == kTimedOut || status >= kNotRun;
}

PasteBoard::PasteBoard() {
  const auto folder = folder_.path();
  for (const char* name : {"fabric.yaml", "given.yaml"}) write(folder / name, kFabric);
  write(folder / "ib.yaml", of_gpu_hosts("fabric: ib-a\nkind: infiniband\n"));
  write(folder / "roce.yaml", of_gpu_hosts("fabric: roce-b\naddresses: {plan: ipv4}\n"));
  for (const char* name : {"a", "b"})
    write(folder / fmt::format("{}.yaml", name),
          fmt::format("fabric: {}\nclos: {{leaves: 2, spines: 2, hosts_per_leaf: 1, link: 400G}}\n", name));
  write(folder / "cluster.yaml", of_gpu_hosts("fabric: gpus\naddresses: {plan: ipv4}\n"));
  write(folder / "site.yaml", "topology: {show: {output: json}}\n");
  write(folder / "job.jsonl", R"({"src":"host1","dst":"host5","bytes":1000000})"
                              "\n");
  std::filesystem::copy_file(WEFT_SOURCE_DIR "/tests/data/small.ibnetdiscover", folder / "net.txt");
  write(folder / "hosts.txt", "gpu[001-004]\n");
  for (const char* run : {"roce-1.log", "roce-2.log", "roce-3.log", "ib-1.log", "ib-2.log", "ib-3.log", "a1",
                          "a2", "a3", "a4", "a5", "a6", "b1", "b2", "b3", "b4", "b5", "b6"})
    write(folder / run, fmt::format("run {}\n{}", run,
                                    text_of(WEFT_SOURCE_DIR "/tests/fuzz/corpus/recorded_run/nccl_2_13")));
  std::string times = "file,time\n";
  for (const char* week : {"last-week", "today"}) {
    std::filesystem::create_directory(folder / week);
    for (int run = 1; run <= 3; ++run) {
      const auto log = fmt::format("{}/{}.log", week, run);
      write(folder / log, fmt::format("run {}\n{}", log,
                                      text_of(WEFT_SOURCE_DIR "/tests/fuzz/corpus/recorded_run/nccl_2_13")));
      times += fmt::format("{},2026-11-{:02}T{:02}:00:00Z\n", log, week[0] == 'l' ? 10 : 20, 6 * run);
    }
  }
  write(folder / "times.csv", times);
  std::filesystem::create_directory(folder / "dumps");
  std::filesystem::copy_file(WEFT_SOURCE_DIR "/tests/fuzz/corpus/cable_record/lldpcli.json",
                             folder / "dumps/leaf1.json");
  std::filesystem::copy(WEFT_SOURCE_DIR "/tests/data/nccl", folder / "traces");
  std::filesystem::copy(WEFT_SOURCE_DIR "/tests/fuzz/corpus/qp_table", folder / "qps");
  std::filesystem::copy(WEFT_SOURCE_DIR "/tests/data/nccl_profile", folder / "profiles");
  std::filesystem::create_directory(folder / "bin");
  std::filesystem::create_symlink(WEFT_BINARY_DIR "/weft", folder / "bin/weft");
  for (const char* launcher : {"ssh", "srun"})
    write(folder / "bin" / launcher, "#!/bin/sh\necho 'no route to host' >&2\nexit 255\n");
  // The real one asks for names of machines for a minute first.
  write(folder / "bin/scontrol", "#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n");
  EXPECT_TRUE(store::WatchStore::open(folder / "watch.db", kept_fabric()).has_value());
  std::filesystem::create_directory(folder / "state");
  std::filesystem::copy_file(folder / "watch.db", folder / "state/watch.db");
  // What other examples write: a sweep's document and observations, a path map.
  const std::string made =
      "weft trace host1 host5 --fabric fabric.yaml --simulate -o json > map.json\n"
      "weft simulate fabric.yaml --fault leaf1--spine2:loss=2% -o json > diagnosis.json || true\n"
      "weft simulate cluster.yaml --observations run.jsonl > table\n"
      "weft compare run --simulate a.yaml b.yaml --blocks 3 -o json > compared.json || true\n"
      "weft plan rates --published > rates.json\n"
      "printf "
      "'{\"schema\":\"weft.counters/1\"}\\n{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/"
      "p1\",\"counters\":"
      "{\"frames_in\":1}}\\n' > counters.jsonl\n"
      "weft nccl tune cluster.yaml --hosts 4 > tuner\n"
      "weft bus init bus --fabric cluster.yaml --operators 1 > table\n"
      "weft bus init jobs --fabric fabric.yaml --operators 1 > table && cp jobs/operators/operator.json .\n"
      "for host in host1 host2 host3; do weft blacklist add $host --for 4h --reason work --ledger bl.db "
      "--fabric fabric.yaml > table; done\n";
  write(folder / "make", "export PATH=$PWD/bin:$PATH\n" + made);
  const auto ready = os::run_program({"sh", "-ec", fmt::format("cd '{}'; . ./make", folder.string())}, "",
                                     std::chrono::seconds(60));
  EXPECT_TRUE(ready.has_value()) << ready.error().message;
}

std::vector<Pasted> PasteBoard::paste(const std::vector<Example>& examples, const std::string& setup,
                                      std::vector<std::string> before) const {
  std::vector<Pasted> pasted;
  const auto folder = folder_.path();
  std::string script = fmt::format(
      "cd '{}'; export PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST='gpu[001-004]' WEFT_GATHER=1s "
      "WEFT_LISTEN=127.0.0.1\n{}\n",
      folder.string(), setup);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    write(folder / fmt::format("example{}", i), examples[i].line + "\n");
    // One that found nothing has left an empty fabric file.
    script += fmt::format(
        "[ -s fabric.yaml ] || cp given.yaml fabric.yaml\ntimeout 100 bash -o pipefail example{0} > out{0} "
        "2> err{0} < /dev/null; echo $? > status{0}\n",
        i);
  }
  write(folder / "script", script);
  before.insert(before.end(), {"bash", (folder / "script").string()});
  (void)os::run_program(before, "", std::chrono::minutes(15));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Pasted one{examples[i], kNotRun, {}};
    std::ifstream(folder / fmt::format("status{}", i)) >> one.status;
    one.said = text_of(folder / fmt::format("err{}", i));
    pasted.push_back(std::move(one));
  }
  return pasted;
}

std::vector<Pasted> paste_in_labs() {
  auto examples = examples_of_labs();
  // Queue pairs need guests, and subnets a lab of InfiniBand.
  std::erase_if(examples, [](const Example& example) {
    return example.line.find("--audit") != std::string::npos || example.command.starts_with("topology");
  });
  auto ready = examples;
  for (Example& example : ready) example.line = again(example.line);
  auto pasted = PasteBoard().paste(ready, kLabs, {"unshare", "-nm", "--propagation", "private"});
  for (std::size_t i = 0; i < pasted.size(); ++i) pasted[i].example = examples[i];
  return pasted;
}

}  // namespace weft
