// PathLabel, paths and the table that keeps them. A path label is what a sender chooses so that the fabric
// takes one path rather than another: the UDP source port on RoCE, the destination LID on InfiniBand. Above
// the wire nothing else knows which. A path is the channels from one NIC to another, in order. PathTable
// interns paths, and sets of paths (where a fabric sprays packets), so that millions of them cost little; ids
// stay valid for the life of the table. Not thread-safe while it grows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {

using PathLabel = Strong<struct PathLabelTag, std::uint32_t>;

/// Rows of ids in one array, each distinct row kept once and numbered in the order of its first coming. Slots
/// of an open-addressing table (a power of two, half of them free) hold part of a row's hash beside its
/// number, so that a look-up touches one cache line and the row itself. Spans stay valid until the next
/// `intern`, which must not be given one of its own.
template <class Id, class Key>
class InternedRows {
 public:
  Key intern(std::span<const Id> wanted);
  std::span<const Id> row(Key key) const {
    const std::uint32_t begin = offsets_[key.value()];
    return {ids_.data() + begin, offsets_[key.value() + 1] - begin};
  }
  std::size_t size() const { return offsets_.size() - 1; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  void grow();

  std::vector<Id> ids_;
  std::vector<std::uint32_t> offsets_{0};
  std::vector<Slot> slots_;
};

class PathTable {
 public:
  /// The id of this path; the same channels always give the same id. An empty path is allowed (src == dst).
  PathId intern(std::span<const ChannelId> channels) { return paths_.intern(channels); }
  PathId intern(std::initializer_list<ChannelId> channels) {
    return intern(std::span(channels.begin(), channels.size()));
  }
  /// The id of this set of paths; order and repeats do not matter; not empty.
  PathSetId intern_set(std::span<const PathId> paths);
  PathSetId only(PathId path) { return intern_set({&path, 1}); }

  std::span<const ChannelId> channels(PathId path) const { return paths_.row(path); }
  /// Ascending by id.
  std::span<const PathId> paths(PathSetId set) const { return sets_.row(set); }

  /// All paths of the set begin with the same `length` channels.
  bool share_start(PathSetId set, std::size_t length) const;

  std::size_t path_count() const { return paths_.size(); }
  std::size_t set_count() const { return sets_.size(); }

 private:
  InternedRows<ChannelId, PathId> paths_;
  InternedRows<PathId, PathSetId> sets_;
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
