// Observation lines of a Clos of two leaves, two spines and two hosts a leaf: every pair of hosts over each
// spine, both ways.
#pragma once

#include <fmt/format.h>

#include <string>

namespace weft {

/// `lost(leaf, spine)`: of the `sent` packets that go up from this leaf to this spine, numbered from 1.
template <class Lost>
std::string lines_of_two_leaves(int sent, Lost lost) {
  std::string text;
  for (int from = 1; from <= 4; ++from)
    for (int to = 1; to <= 4; ++to)
      for (int spine = 1; spine <= 2; ++spine) {
        const int source = (from + 1) / 2;
        const int target = (to + 1) / 2;
        if (source == target) continue;
        text += fmt::format(
            "{{\"path\":[\"host{}->leaf{}\",\"leaf{}->spine{}\",\"spine{}->leaf{}\",\"leaf{}->host{}\"],"
            "\"sent\":{},\"lost\":{}}}\n",
            from, source, source, spine, spine, target, target, to, sent, lost(source, spine));
      }
  return text;
}

}  // namespace weft
