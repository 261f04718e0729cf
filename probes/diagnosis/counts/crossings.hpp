// Crossings: which raw suspects the packets of an observation cross, and with what share of its paths. Raw
// suspects are numbered: channels, then nodes, then both again for each size class but the smallest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

struct Crossing {
  std::uint32_t suspect = 0;
  std::uint8_t share = 0;  // index into Crossings::shares()
};

class Crossings {
 public:
  /// Both must outlive this.
  Crossings(const Fabric& fabric, const Observations& observations);

  /// Each suspect once; valid until the next call.
  std::span<const Crossing> of(std::uint32_t observation);

  /// The shares met so far; shares()[0] is 1.
  const std::vector<double>& shares() const { return shares_; }
  /// Raw suspects that harm packets of all sizes, and of each further size class.
  std::size_t of_all_sizes() const;
  /// Size classes beyond the first.
  std::size_t extra_sizes() const { return sizes_.size() - 1; }
  Bytes size_of(std::size_t size_class) const { return sizes_[size_class]; }
  /// The largest packets actually sent that are smaller than this class.
  Bytes size_below(std::size_t size_class) const { return below_[size_class]; }

 private:
  void add_path(PathId path);
  void add_weighted(PathSetId set);
  std::uint8_t share_index(double share);
  std::size_t size_class(Bytes size) const;

  const Fabric& fabric_;
  const Observations& observations_;
  std::vector<Bytes> sizes_;  // the smallest packet of each class, ascending
  std::vector<Bytes> below_;
  std::vector<std::uint32_t> into_;  // by channel: the node that it leads to, as a suspect
  std::vector<double> shares_{1.0};
  std::vector<Crossing> out_;
  std::vector<std::pair<std::uint32_t, double>> weighted_;
};

}  // namespace weft::diagnosis
