// The program `weft`, run as a user runs it, for benchmarks of what its commands say.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "topology/os/child_process.hpp"

namespace weft::bench {

/// A command that has begun; killed when it is destroyed before its end.
class WeftCommand {
 public:
  /// `before`: words in front of the program, as those of nsenter. A program that cannot be started ends the
  /// benchmark.
  explicit WeftCommand(const std::vector<std::string>& arguments, std::vector<std::string> before = {});
  WeftCommand(const WeftCommand&) = delete;
  WeftCommand& operator=(const WeftCommand&) = delete;
  ~WeftCommand();

  /// Waits for its end, two minutes at most; what it wrote on stdout, whatever its exit status.
  std::string output();

  pid_t pid() const { return child_.pid(); }

  static const std::string kProgram;

 private:
  std::filesystem::path scratch_;
  os::ChildProcess child_;
};

/// Runs weft to its end.
std::string weft_output(const std::vector<std::string>& arguments);

}  // namespace weft::bench
