// What real devices said and their owners published (tests/data/captured_counters), through the readers that
// the product uses, held against what a human reads there. `captures.json` has, for each, its source, its
// format and all fields that weft has a name for; a field that a reader adds is as wrong as one that it
// misses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

struct CaptureVerdict {
  std::string file;
  std::size_t fields = 0, right = 0;  // of what is stated or was read
  std::vector<std::string> wrong;     // "frames_in: 0, not 21883"
};
/// A verdict for each capture. Aborts where the folder is not as it should be.
std::vector<CaptureVerdict> judge_captures();

}  // namespace weft
