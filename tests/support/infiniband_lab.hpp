// InfinibandLab: a fabric in ibsim under OpenSM of the test's own, and `weft` to command it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/os/child_process.hpp"

namespace weft {

/// Up as long as the object lives.
class InfinibandLab {
 public:
  /// Three leaves, two spines, two hosts a leaf. `lab_part`: the fabric file's `lab`. Links of a rate that
  /// ibsim cannot say are its fastest.
  explicit InfinibandLab(std::string_view lab_part, std::string_view rate = "400G");
  /// Of another shape: all of the fabric file but its first two lines.
  struct Shape {
    std::string text;
    std::string name_end = {};  // of the lab's name: another for a second one beside the first
    /// Before all programs, as {"nsenter", "--net=..."}: ibsim's sockets are of a network namespace.
    std::vector<std::string> before = {};
  };
  explicit InfinibandLab(const Shape& shape);
  ~InfinibandLab();
  InfinibandLab(const InfinibandLab&) = delete;
  InfinibandLab& operator=(const InfinibandLab&) = delete;

  struct Answer {
    int status = -1;
    std::string text;    // on stdout
    std::string errors;  // on stderr
  };
  Answer weft(std::vector<std::string> words, Nanoseconds limit = std::chrono::seconds(90));
  Answer sweep() { return weft({"sweep", "--lab=" + name_, "--budget", "3s"}); }
  Answer fault(std::vector<std::string> words) {
    words.insert(words.begin(), {"lab", "fault", "--name", name_});
    return weft(words);
  }
  Answer heal() { return weft({"lab", "heal", "--name", name_}); }
  /// From a host at the first switch but one, whose adapter is in the subnet: as on a live fabric, whose file
  /// this is.
  Answer weft_in_subnet(std::vector<std::string> words);
  /// From this NIC (of the fabric file) any program, with more environment.
  Answer run_at(const std::string& nic, std::vector<std::string> argv, std::vector<std::string> env = {});
  /// For --launcher: starts agents as they run on hosts with adapters of ibsim.
  std::string launcher() const { return "sh " + launch_ + " {host}"; }
  const std::string& file() const { return path_; }
  const std::string& name() const { return name_; }

  Answer up;

 private:
  Answer run(os::ChildSpec child, Nanoseconds limit = std::chrono::seconds(90));
  void write_launcher();
  std::vector<std::string> before_;
  std::string name_;
  std::string path_;
  std::string out_;
  std::string launch_;
};

class InfinibandLabTest : public testing::Test {
 protected:
  void SetUp() override;
};

}  // namespace weft
