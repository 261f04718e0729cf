// LabUser: someone at a terminal with the program `weft`, a fabric file and a run-time directory of his own;
// his lab ends with the object. As root, or as an ordinary user.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/test_lab.hpp"
#include "topology/os/child_process.hpp"

namespace weft {

struct Answer {
  int status = -1;  // as a shell reports it
  std::string output;
  std::string errors;
};

/// A command that runs.
class RunningCommand {
 public:
  RunningCommand(os::ChildProcess child, std::filesystem::path output, std::filesystem::path errors)
      : child_(std::move(child)), output_(std::move(output)), errors_(std::move(errors)) {}
  pid_t pid() const { return child_.pid(); }
  void signal(int number);
  /// How it ended; it is a failed test when it has not within `limit`.
  Answer wait(Nanoseconds limit);
  /// What it wrote on stderr so far.
  std::string errors_so_far() const;

 private:
  os::ChildProcess child_;
  std::filesystem::path output_;
  std::filesystem::path errors_;
};

class LabUser {
 public:
  /// `before` stands before the program on its command line.
  explicit LabUser(std::string_view fabric, std::vector<std::string> before = {});
  LabUser(const LabUser&) = delete;
  LabUser& operator=(const LabUser&) = delete;
  ~LabUser();

  RunningCommand start(const std::vector<std::string>& words,
                       std::vector<std::string> environment = {}) const;
  /// With these words before the program instead of its own.
  RunningCommand start_after(std::vector<std::string> before, const std::vector<std::string>& words,
                             std::vector<std::string> environment = {}) const;
  /// Runs it to its end, a minute at most.
  Answer weft(const std::vector<std::string>& words, std::vector<std::string> environment = {}) const;
  Answer up() const { return weft({"lab", "up", fabric_file(), "--name", lab}); }
  /// `weft lab fault`; a failed test when it is refused.
  void fault(const std::string& link, std::vector<std::string> settings) const;

  /// Where the labs of an ordinary user are kept.
  std::filesystem::path state_root() const { return scratch_.path() / "weft/labs"; }
  std::string fabric_file() const { return scratch_.path() / "fabric.yaml"; }
  /// The program itself: a copy that every user may run.
  std::string program() const { return scratch_.path() / "program"; }
  /// For files of the test's own; gone with the object.
  std::filesystem::path directory() const { return scratch_.path(); }
  /// Where the program puts its scratch files.
  std::filesystem::path temporary() const { return scratch_.path() / "tmp"; }

  const std::string lab = unique_lab_name();

 private:
  TestDirectory scratch_;
  std::vector<std::string> before_;
  mutable int commands_ = 0;
};

/// The words before a program that make it run as an ordinary user (nobody), without privileges.
std::vector<std::string> as_nobody();

/// The child of `parent` whose command line has this word; waits for it. Absent: none came.
std::optional<pid_t> child_with_word(pid_t parent, const std::string& word);
std::vector<pid_t> children_of(pid_t parent);
/// To this process alone; a failure where there is none.
testing::AssertionResult send_signal(std::optional<pid_t> process, int signal);
/// Packets that the first NIC in the namespace of `process` has sent.
std::uint64_t packets_sent(pid_t process);
/// Waits until the first NIC in the namespace of `process` has sent `packets` more than now: it probes.
testing::AssertionResult probes_from(pid_t process, std::uint64_t packets);
/// Nothing is left in the directory, after a short wait at most.
testing::AssertionResult becomes_empty(const std::filesystem::path& directory);
/// None of them is left, also not as a zombie of ours.
testing::AssertionResult all_gone(const std::vector<pid_t>& processes);

}  // namespace weft
