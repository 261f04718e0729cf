// The first hour of docs/cluster.md, pasted: hosts that are known by nothing but their names and reached by
// ssh alone, from the doctor to a prolog that keeps jobs off the host that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.hpp"
#include "tests/support/cluster_page.hpp"
#include "tests/support/ssh_cluster.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

const std::string kDocs = WEFT_SOURCE_DIR "/docs";

/// Someone on the head node, whose configuration says how hosts are reached.
class Operator : public SshCluster {
 public:
  Operator() : SshCluster({"host1", "host2", "host3", "host4"}) {
    std::filesystem::create_directories(directory() / "config.d/weft");
    std::ofstream(directory() / "config.d/weft/weft.yaml")
        << "launcher: " << launcher() << "\nlisten: " << head_address()
        << "\nanswer-rate: 10000\nagent-program: " << program() << "\nbudget: 3s\n";
    std::filesystem::create_directories(directory() / "bin");
    std::filesystem::create_symlink(program(), directory() / "bin/weft");
  }
  Answer paste(const std::string& command) const {
    return start_after({"nsenter", "--net=" + opened().management_namespace().string(), "env",
                        "PATH=" + (directory() / "bin").string() + ":/usr/sbin:/usr/bin:/sbin:/bin",
                        "XDG_CONFIG_HOME=" + (directory() / "config.d").string(), "sh", "-c",
                        "cd \"$0\" && " + command, directory().string()},
                       {})
        .wait(std::chrono::seconds(120));
  }
  /// The prolog of this host, by the file of the page's last step.
  Answer prolog_of(const std::string& host) const {
    const auto recipes = directory() / "recipes";
    if (!std::filesystem::exists(recipes)) {
      std::filesystem::copy(kDocs + "/recipes/slurm", recipes);
      std::ofstream(recipes / "verdict.sh", std::ios::app)
          << "WEFT_GATE=" << (directory() / "gate").string() << "\n"
          << "WEFT=" << program() << "\n";
    }
    return paste("SLURMD_NODENAME=" + host + " sh recipes/prolog.sh");
  }
};

TEST(FirstHour, GoesFromTheDoctorToAProlog) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const Operator head;
  head.fault("host2--leaf1", {"--loss", "40%"});
  std::map<std::string, Answer> said;
  std::string found;
  for (const std::string& command :
       commands_of_cluster_page({{"gpu[001-064]", "host[1-4]"}, {"/usr/share/doc/weft/docs", kDocs}})) {
    const auto answer = head.paste(command);
    const bool finds_the_fault = command.find("--save") != std::string::npos;
    EXPECT_EQ(answer.status, finds_the_fault ? 2 : 0) << command << "\n" << answer.output << answer.errors;
    said[command] = answer;
    if (finds_the_fault) {
      EXPECT_THAT(answer.output, HasSubstr("host2")) << command;
      found = answer.output + answer.errors;
    }
  }
  ASSERT_GE(said.size(), 7u) << "docs/cluster.md lost its commands";
  const auto refused = head.prolog_of("host2");
  EXPECT_EQ(refused.status, 1) << refused.errors << found;
  for (const char* host : {"host1", "host3", "host4"}) EXPECT_EQ(head.prolog_of(host).status, 0) << host;
}

}  // namespace
}  // namespace weft
