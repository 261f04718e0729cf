// `weft blacklist` beside a stand-in for Slurm's scontrol (tests/fakes/slurm), whose nodes are files.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/blacklist.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/test_lab.hpp"
#include "tests/support/text_of.hpp"

namespace weft::cli {

/// Of 16 hosts 4 may be drained.
inline constexpr const char* kFabric =
    "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 8, link: 400G}\n";
inline constexpr const char* kFeatures = "big,weft_rail1_ok";

/// A ledger, a fabric and the stand-in for scontrol first in PATH.
class SlurmStandIn : public testing::Test {
 protected:
  SlurmStandIn() {
    std::ofstream(here("fabric.yaml")) << kFabric;
    std::filesystem::create_directories(directory_.path() / "nodes");
    for (int host = 1; host <= 16; ++host) node(fmt::format("host{}", host), "IDLE", "");
    const std::string path = getenv("PATH");
    if (!path.starts_with(WEFT_SOURCE_DIR))
      setenv("PATH", (WEFT_SOURCE_DIR "/tests/fakes/slurm:" + path).c_str(), 1);
    setenv("FAKE_SLURM", directory_.path().c_str(), 1);
  }

  Outcome run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--ledger", here("bl.db"), "--fabric", here("fabric.yaml")});
    return call(blacklist_command, words);
  }
  Outcome sync(std::vector<std::string> more = {"--apply"}) const {
    more.insert(more.begin(), {"sync", "--to", "slurm"});
    return run(more);
  }
  /// A sync of a process of its own ended by a signal.
  bool is_killed_in_sync() const {
    const pid_t child = fork();
    if (child == 0) {
      sync();
      _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
  }
  void add(const std::string& subject, const std::string& reason = "line card") const {
    const auto added = run({"add", subject, "--for", "4h", "--reason", reason});
    ASSERT_NE(added.out.find("activated"), std::string::npos) << added.err << added.out;
  }

  std::string here(const std::string& name) const { return directory_.path() / name; }
  void node(const std::string& name, const std::string& state, const std::string& reason,
            const std::string& active = kFeatures) const {
    std::ofstream(here("nodes/" + name)) << state << '\n'
                                         << reason << '\n'
                                         << kFeatures << '\n'
                                         << active << '\n';
  }
  std::string read(const std::string& name) const { return text_of(here(name)); }
  /// STATE|REASON|ACTIVE FEATURES
  std::string at(const std::string& name) const {
    std::ifstream file(here("nodes/" + name));
    std::string state, reason, available, active;
    std::getline(file, state), std::getline(file, reason);
    std::getline(file, available), std::getline(file, active);
    return state + "|" + reason + "|" + active;
  }
  const std::string idle_ = fmt::format("IDLE||{}", kFeatures);
  /// What scontrol does at a call, in its own shell: `$call`, `$words`.
  void hook(const char* when, const std::string& script) const {
    std::ofstream(here(when)) << script << '\n';
    std::filesystem::remove(here("calls"));
  }
  void unhook() const {
    std::filesystem::remove(here("before"));
    std::filesystem::remove(here("after"));
  }
  nlohmann::json marks_of(const std::string& id) const {
    std::istringstream lines(run({"list", "-o", "json"}).out +
                             run({"list", "--state", "released", "-o", "json"}).out);
    for (std::string line; std::getline(lines, line);)
      if (auto entry = nlohmann::json::parse(line); std::to_string(entry["id"].get<int>()) == id)
        return entry["marks"];
    return nlohmann::json::array();
  }

 private:
  TestDirectory directory_;
};

}  // namespace weft::cli
