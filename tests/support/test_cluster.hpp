// TestCluster: the hosts of a lab, reached by a launcher as those of a cluster are. The commands run on the
// lab's management network, where a head node would stand.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/lab_place.hpp"
#include "tests/support/lab_user.hpp"

namespace weft {

inline constexpr const char* kClusterFabric =
    "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 50M}\n";

/// A lab that is up, without agents, and a fabric file that gives the address of every port.
class TestCluster : public LabUser {
 public:
  explicit TestCluster(const std::string& family = "ipv4", const std::string& fabric = kClusterFabric)
      : LabUser(fmt::format("{}lab: {{family: {}}}\naddresses: {{plan: {}}}\n", fabric, family, family)) {
    const auto answer = up();
    EXPECT_EQ(answer.status, 0) << answer.errors;
    const auto written = weft({"topology", "show", fabric_file(), "-o", "yaml"});
    EXPECT_THAT(written.output, testing::HasSubstr("host1/p1: \""));
    std::ofstream(live_file()) << written.output;
    opened_ = lab::Lab::open(lab, cli::lab_state_root()).value();
  }

  std::string live_file() const { return directory() / "live.yaml"; }
  std::string head_address() const { return to_string(opened_->coordinator_address()); }
  lab::Lab const& opened() const { return *opened_; }
  std::string launcher() const { return program() + " lab exec {host} --name " + lab + " --"; }
  /// A launcher of its own making: `first` is a shell's line that may end it; $1 is the host.
  std::string launcher_with(const std::string& first) const {
    const auto script = directory() / "launch.sh";
    std::ofstream(script) << first << "\nhost=$1; shift; exec " << program() << " lab exec $host --name "
                          << lab << " -- \"$@\"\n";
    return "sh " + script.string() + " {host}";
  }

  std::vector<std::string> sweep_words(const std::string& launch, const char* budget = "2s") const {
    return {"sweep",      "--fabric",      live_file(), "--hosts",      "host[1-4]",
            "--launcher", launch,          "--listen",  head_address(), "--budget",
            budget,       "--answer-rate", "10000",     "-o",           "json"};
  }
  RunningCommand start_on_head(const std::vector<std::string>& words,
                               std::vector<std::string> environment = {}) const {
    const auto place = "--net=" + opened_->management_namespace().string();
    return start_after({"nsenter", place}, words, std::move(environment));
  }
  Answer on_head(const std::vector<std::string>& words, std::vector<std::string> environment = {}) const {
    return start_on_head(words, std::move(environment)).wait(std::chrono::seconds(60));
  }

 private:
  std::optional<lab::Lab> opened_;
};

}  // namespace weft
