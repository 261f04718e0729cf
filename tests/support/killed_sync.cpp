#include "tests/support/killed_sync.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "tests/places.hpp"
#include "tests/support/test_lab.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

constexpr int kMaxWrites = 2000;  // of a sync: some sixty

class Site {
 public:
  Site() {
    std::ofstream(here("fabric.yaml")) << "fabric: f\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 8}\n";
    std::filesystem::create_directories(directory_.path() / "nodes");
    for (int host = 1; host <= 16; ++host)
      std::ofstream(here(fmt::format("nodes/host{}", host))) << "IDLE\n\nbig\nbig\n";
    // Entry 1 is to come off, entry 2 to be put.
    weft("add host1 --for 4h --reason a");
    weft("sync --to slurm --apply");
    weft("release 1");
    weft("add host2 --for 4h --reason b");
    sh("cp -a bl.db* nodes kept/");
  }

  void restore() const { sh("rm -rf nodes bl.db* && cp -a kept/* ."); }
  /// Whether it was killed.
  bool sync_killed_at(int write) const {
    const auto said =
        sh(fmt::format("{} sync --to slurm --apply {} >/dev/null 2>&1; echo $?",
                       weft_words(fmt::format("env LD_PRELOAD={}/libweft_kill_at.so WEFT_KILL_AT={} ",
                                              WEFT_BINARY_DIR, write)),
                       kWhere));
    return said == "137\n";
  }
  /// What the next sync leaves; empty: all is right.
  std::string trouble() const {
    const auto next = weft("sync --to slurm --apply");
    if (!next.starts_with("0\n")) return "the next sync: " + next;
    if (const auto left = text_of(here("nodes/host1")); left != "IDLE\n\nbig\nbig\n") return "host1: " + left;
    if (const auto put = text_of(here("nodes/host2"));
        put != "IDLE+DRAIN\nweft: planned host2 id=f:2 b\nbig\nbig\n")
      return "host2: " + put;
    const auto checked = weft("check --to slurm");
    return checked.starts_with("0\n") ? "" : "check: " + checked;
  }

 private:
  static constexpr const char* kWhere = "--ledger bl.db --fabric fabric.yaml";
  std::string here(const std::string& name) const { return directory_.path() / name; }
  static std::string weft_words(const std::string& before) {
    return fmt::format("{}{}/weft blacklist", before, WEFT_BINARY_DIR);
  }
  std::string sh(const std::string& script) const {
    const auto said = os::run_program(
        {"sh", "-c",
         fmt::format(
             "cd {0} && mkdir -p kept && export FAKE_SLURM={0} PATH={1}/tests/fakes/slurm:$PATH && {2}",
             directory_.path().string(), WEFT_SOURCE_DIR, script)},
        "", std::chrono::seconds(60));
    return said ? *said : said.error().message;
  }
  /// STATUS, a line, and what it said.
  std::string weft(const std::string& words) const {
    return sh(fmt::format("{} {} {} >said.log 2>&1; echo $?; cat said.log", weft_words(""), words, kWhere));
  }

  TestDirectory directory_;
};

}  // namespace

KilledSyncs try_killed_syncs(int stride) {
  const Site site;
  KilledSyncs tried;
  for (int write = 1; write < kMaxWrites; write += stride) {
    site.restore();
    if (!site.sync_killed_at(write)) break;
    const auto trouble = site.trouble();
    ++tried.all, tried.right += trouble.empty() ? 1 : 0;
    if (!trouble.empty() && tried.wrong.empty())
      tried.wrong = fmt::format("killed at write {}: {}", write, trouble);
  }
  return tried;
}

}  // namespace weft
