// Progress of a run on stderr: a line that is written over on a terminal, or lines for a log. It also keeps
// how long each part took. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "probes/session/coordinator.hpp"

namespace weft::cli {

/// `terminal`: one line, written over. `plain`: a line every ten seconds and at each new part.
enum class ProgressStyle { none, terminal, plain };

/// A line on a terminal that can take one away, else nothing.
ProgressStyle usual_progress_style();

void add_progress_option(po::options_description& options);
/// Of --progress; the usual one without it.
Result<ProgressStyle> read_progress_style(const po::variables_map& values);

/// "loading: 3 of 16, 19%, 1.2 s, about 5 s left", at most `columns` wide. `part_time` has gone by since the
/// part began: the time left is that of the part.
std::string progress_text(const session::Progress& progress, Nanoseconds run_time, Nanoseconds part_time,
                          std::size_t columns);

/// Of a run that tells which part of it is being done: one bar for the whole. Its share never goes back.
class WholeRun {
 public:
  /// "[############--------] 63% loading: 3 of 16, 12 s, about 7 s left, 21400 probes/s", or without the bar,
  /// at most `columns` wide; empty: the run does not tell.
  std::string text(const session::Progress& progress, Nanoseconds run_time, std::size_t columns,
                   bool with_bar);

 private:
  double share_ = 0;
};

class ProgressLine {
 public:
  explicit ProgressLine(ProgressStyle style);
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

  ProgressStyle style_;
  WholeRun whole_;
  bool shown_line_ = false;
  std::string part_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point part_began_ = Clock::now();
  Clock::time_point shown_{};
  std::vector<std::pair<std::string, Nanoseconds>> timings_;
};

}  // namespace weft::cli
