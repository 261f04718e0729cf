#include "collectors/report/fabric_layout.hpp"

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

constexpr double kMargin = 24;
constexpr double kGap = 12;    // between two boxes of a row
constexpr double kColumn = 7;  // of a letter of the names
constexpr double kPadding = 14;
constexpr double kBoxHeight = 26;
constexpr double kMinRise = 110;       // between two rows
constexpr double kRiseOfWidth = 0.08;  // cables of a wide fabric need room to fan out
constexpr double kMaxRise = 320;

}  // namespace

FabricLayout layout_of(const Fabric& fabric) {
  std::map<Tier, std::vector<std::uint32_t>> rows;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) rows[fabric.node(NodeId(n)).tier].push_back(n);
  FabricLayout layout;
  layout.nodes.resize(fabric.node_count());
  std::map<Tier, double> box;  // width of the boxes of a row
  for (const auto& [tier, row] : rows) {
    std::size_t longest = 0;
    for (const std::uint32_t n : row) longest = std::max(longest, fabric.node(NodeId(n)).name.size());
    box[tier] = kPadding + kColumn * static_cast<double>(longest);
    layout.width = std::max(layout.width, static_cast<double>(row.size()) * (box[tier] + kGap) + 2 * kMargin);
  }
  const double rise = std::clamp(layout.width * kRiseOfWidth, kMinRise, kMaxRise);
  double y = kMargin + kBoxHeight / 2;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row, y += rise) {
    const double step = (layout.width - 2 * kMargin) / static_cast<double>(row->second.size());
    for (std::size_t i = 0; i < row->second.size(); ++i)
      layout.nodes[row->second[i]] = {kMargin + step * (static_cast<double>(i) + 0.5), y, box[row->first],
                                      kBoxHeight};
    layout.height = y + kBoxHeight / 2 + kMargin;
  }
  return layout;
}

}  // namespace weft::report
