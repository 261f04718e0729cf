// The examples of all help pages, pasted into a shell as a user would: in a folder with the files that they
// name, with `weft` in the PATH, and a launcher that reaches no host.
#pragma once

#include <string>
#include <vector>

#include "tests/support/test_lab.hpp"

namespace weft {

struct Example {
  std::string command;  // whose page it stands on
  std::string line;     // as the page shows it, its continuation lines joined
};
/// Each once. Those of labs name one, or are words of `weft lab`.
std::vector<Example> examples_on_their_own();
std::vector<Example> examples_of_labs();

struct Pasted {
  Example example;
  int status = 0;
  std::string said;  // on stderr
  /// Not understood: by the shell, by weft (64, 70), or it crashed or took too long.
  bool failed() const;
};

/// The folder and the shells in it.
class PasteBoard {
 public:
  PasteBoard();
  /// One after the other, in one shell: what the first writes the second reads. A `setup` goes before them.
  std::vector<Pasted> paste(const std::vector<Example>& examples, const std::string& setup = "",
                            std::vector<std::string> before = {}) const;

 private:
  TestDirectory folder_;
};

/// Those of labs, in namespaces where the labs that they name (default, mine, demo) are up and nobody else's.
/// Needs root.
std::vector<Pasted> paste_in_labs();

}  // namespace weft
