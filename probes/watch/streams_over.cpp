#include "probes/watch/streams_over.hpp"

#include <algorithm>
#include <optional>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

std::optional<PathId> path_over(const PathTable& table, PathSetId set, LinkId link) {
  for (const PathId path : table.paths(set))
    for (const ChannelId channel : table.channels(path))
      if (Fabric::link_of(channel) == link) return path;
  return std::nullopt;
}

struct Found {
  std::uint32_t nic = 0;
  std::uint32_t stream = 0;  // of the NIC
  PathId path;
  PathLabel label;
  std::uint64_t lost = 0;
};

}  // namespace

std::vector<StreamOver> streams_over(const StandingPlan& plan, const ScaleSums& sums, LinkId link,
                                     std::size_t most) {
  std::vector<Found> found;
  auto lost = sums.lost.begin();  // by row, ascending, as the streams are
  for (std::uint32_t n = 0; n < plan.nics.size(); ++n) {
    const StandingNic& nic = plan.nics[n];
    for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
      const StandingStream& stream = nic.streams[s];
      const std::uint32_t row = nic.first_row + s;
      while (lost != sums.lost.end() && lost->first < row) ++lost;
      const RowLosses of_row = lost != sums.lost.end() && lost->first == row ? lost->second : RowLosses{};
      if (const auto path = path_over(plan.paths, stream.there, link))
        found.push_back({n, s, *path, stream.label, of_row.there + of_row.open});
      if (const auto path = path_over(plan.paths, stream.back, link))
        found.push_back({n, s, *path, stream.back_label, of_row.back + of_row.open});
    }
  }
  std::ranges::stable_sort(found, std::greater{}, &Found::lost);
  if (found.size() > most) found.resize(most);
  std::vector<StreamOver> streams;
  for (const Found& one : found) {
    const auto channels = plan.paths.channels(one.path);
    streams.push_back({one.label,
                       {channels.begin(), channels.end()},
                       sums.telling(one.nic, plan.nics[one.nic], one.stream),
                       one.lost});
  }
  return streams;
}

}  // namespace weft::watch
