#include "probes/watch/standing_counts.hpp"

#include <utility>

#include "topology/base/splitmix.hpp"

namespace weft::watch {
namespace {

constexpr Nanoseconds kSecond = std::chrono::seconds(1);
constexpr std::uint32_t kWidth = 64;  // of Stream::come: 6 s of a stream of ten probes a second

}  // namespace

std::optional<std::uint16_t> StandingCounts::count(PortId nic, BatchId batch, std::uint32_t stream,
                                                   std::uint32_t sequence, Nanoseconds now) {
  Asker& asker = askers_[nic];
  if (!may_ask(asker, now)) return std::nullopt;
  auto& streams = batch_of(asker, batch).streams;
  auto found = streams.find(stream);
  if (found == streams.end()) {
    if (streams_ >= limits_.streams) return std::nullopt;
    ++streams_;
    const auto place = std::uint64_t{nic.value()} << 32 | stream;
    const auto start = mix_bits(seed_ + mix_bits(place) + batch.value());
    found = streams.emplace(stream, Stream{sequence, 0, static_cast<std::uint16_t>(start)}).first;
  }
  if (!is_new(found->second, sequence)) return std::nullopt;
  return ++found->second.count;
}

void StandingCounts::keep(const datapath::RunNics& asked, const datapath::RunNics& asked_before) {
  std::erase_if(askers_, [&](const auto& asker) {
    if (asked.find(asker.first) != nullptr || asked_before.find(asker.first) != nullptr) return false;
    for (const Batch& batch : asker.second.batches) streams_ -= batch.streams.size();
    return true;
  });
}

bool StandingCounts::may_ask(Asker& asker, Nanoseconds now) const {
  if (now - asker.second >= kSecond) asker.second = now, asker.asked = 0;
  return asker.asked++ < limits_.rate;
}

/// The older one makes room.
StandingCounts::Batch& StandingCounts::batch_of(Asker& asker, BatchId id) {
  for (Batch& batch : asker.batches)
    if (batch.id == id) return batch;
  auto& [newer, older] = asker.batches;
  streams_ -= older.streams.size();
  older = std::exchange(newer, Batch{id, {}});
  return newer;
}

bool StandingCounts::is_new(Stream& stream, std::uint32_t sequence) {
  const auto ahead = static_cast<std::int32_t>(sequence - stream.highest);  // sequences wrap
  if (ahead > 0) {
    stream.come = ahead < static_cast<std::int32_t>(kWidth) ? stream.come << ahead : 0;
    stream.highest = sequence;
  }
  const auto behind = ahead > 0 ? 0u : static_cast<std::uint32_t>(-static_cast<std::int64_t>(ahead));
  if (behind >= kWidth) return false;
  const auto bit = std::uint64_t{1} << behind;
  const bool fresh = (stream.come & bit) == 0;
  stream.come |= bit;
  return fresh;
}

}  // namespace weft::watch
