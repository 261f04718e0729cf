// What sweep and simulate print and write once the work is done.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "probes/session/coordinator.hpp"
#include "probes/session/sweep.hpp"

namespace weft::cli {

/// Follows the sweep: a line on stderr when that is a terminal, and how long each part took.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const session::Progress& progress);
  /// Takes the line away, for something else to stand there.
  void clear();
  /// By part, in the order in which they began. Ends the part in hand.
  std::vector<std::pair<std::string, Nanoseconds>> timings();

 private:
  using Clock = std::chrono::steady_clock;
  void begin(std::string_view part);

  bool on_terminal_;
  std::string part_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point part_began_ = Clock::now();
  Clock::time_point shown_{};
  std::vector<std::pair<std::string, Nanoseconds>> timings_;
};

void add_answer_options(po::options_description& options);
/// Whether the answer is to be JSON. Error: usage, also for a file that could not be written once the work is
/// done.
Result<bool> read_answer_options(const po::variables_map& values);

/// Prints the table or the JSON document and writes the files that were asked for; the exit status of the
/// verdict.
int answer(const po::variables_map& values, const Fabric& fabric, session::Sweep& sweep,
           ProgressLine& progress);

}  // namespace weft::cli
