// Figures: what a benchmark measured. Prints one line a figure as it comes, and writes build/bench/NAME.json
// at the end: {"schema":"weft.bench/1","machine":...,"figures":{name: number}}.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bench {

class Figures {
 public:
  /// `name`: the benchmark's, as in `./bootstrap bench NAME`.
  explicit Figures(std::string name);
  /// Takes over what an earlier run on this machine wrote and this one has not measured (so far): for a
  /// benchmark that is run in pieces. Call it late: pieces may run side by side.
  void keep_earlier();
  /// What is known of `figure` so far, kept figures included.
  std::optional<double> find(std::string_view figure) const;
  /// `target` is what to reach, as people read it ("1.000", "at most 250"); empty: none stated.
  void add(std::string_view figure, double value, std::string_view target = "");
  /// The same, without a line of its own: for what a table shows already.
  void note(std::string_view figure, double value);
  /// Writes the file; answers the exit status of the benchmark: 0, or 70 when it could not be written.
  int write() const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, double>> figures_;
};

/// build/bench of the project, made where it is not there.
std::filesystem::path bench_folder();

/// Milliseconds that `work` takes.
template <class Work>
double milliseconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Milliseconds of CPU time that `work` takes in this thread: what it takes by the clock on a machine that
/// does nothing else, if it neither waits nor starts threads.
double cpu_milliseconds(const std::function<void()>& work);

}  // namespace weft::bench
