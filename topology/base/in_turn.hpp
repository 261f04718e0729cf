// in_turn: runs steps, each a function that gives Result<void>, until one fails.
#pragma once

#include "topology/base/result.hpp"

namespace weft {

template <class... Steps>
Result<void> in_turn(Steps... steps) {
  Result<void> done;
  static_cast<void>((static_cast<bool>(done = steps()) && ...));
  return done;
}

}  // namespace weft
