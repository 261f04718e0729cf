// PathLabel, paths and the table that keeps them. A path label is what a sender chooses so that the fabric
// takes one path rather than another: the UDP source port on RoCE, the destination LID on InfiniBand. Above
// the wire nothing else knows which. A path is the channels from one NIC to another, in order. PathTable
// interns paths, and sets of paths (where a fabric sprays packets), so that millions of them cost little; ids
// stay valid for the life of the table. Not thread-safe while it grows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {

using PathLabel = Strong<struct PathLabelTag, std::uint32_t>;

class PathTable {
 public:
  /// The id of this path; the same channels always give the same id. An empty path is allowed (src == dst).
  PathId intern(std::span<const ChannelId> channels);
  PathId intern(std::initializer_list<ChannelId> channels) {
    return intern(std::span(channels.begin(), channels.size()));
  }
  /// The id of this set of paths; order and repeats do not matter; not empty.
  PathSetId intern_set(std::span<const PathId> paths);
  PathSetId only(PathId path) { return intern_set({&path, 1}); }

  std::span<const ChannelId> channels(PathId path) const;
  /// Ascending by id.
  std::span<const PathId> paths(PathSetId set) const;

  /// All paths of the set begin with the same `length` channels.
  bool share_start(PathSetId set, std::size_t length) const;

  std::size_t path_count() const { return path_offsets_.size() - 1; }
  std::size_t set_count() const { return set_offsets_.size() - 1; }

 private:
  std::vector<ChannelId> channels_;
  std::vector<std::uint32_t> path_offsets_{0};
  std::vector<PathId> members_;
  std::vector<std::uint32_t> set_offsets_{0};
  std::unordered_multimap<std::uint64_t, PathId> path_index_;
  std::unordered_multimap<std::uint64_t, PathSetId> set_index_;
};

// PathMap: for pairs of NICs, every path found and the labels that select it. A value; it owns its PathTable.

/// Where a fabric sprays, one label takes several paths: it is then listed under each of them.
struct LabelledPath {
  PathId path;
  std::vector<PathLabel> labels;  // ascending
};

struct PairPaths {
  PortId src;  // NIC
  PortId dst;  // NIC
  std::vector<LabelledPath> paths;
};

struct PathMap {
  PathTable table;
  std::vector<PairPaths> pairs;  // each (src, dst) once
};

}  // namespace weft
