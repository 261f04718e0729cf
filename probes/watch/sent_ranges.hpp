// SentRanges: which numbers of its schedule each NIC has sent, as ranges that add up. Probe number p of a
// schedule of n streams is of stream p % n, so this says for every stream how many of its probes were sent,
// in a few bytes a NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::watch {

/// Schedule numbers first ... end - 1.
struct SentRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t count() const { return end - first; }
  friend bool operator==(const SentRange&, const SentRange&) = default;
};

/// How many of them are of stream `stream` of `streams`.
inline std::uint64_t sent_of(SentRange range, std::uint64_t stream, std::uint64_t streams) {
  const auto below = [&](std::uint64_t number) { return (number + streams - 1 - stream) / streams; };
  return below(range.end) - below(range.first);
}

class SentRanges {
 public:
  explicit SentRanges(std::size_t nics = 0) : first_(nics) {}

  void add(std::uint32_t nic, SentRange range) {
    if (range.count() == 0 || join(first_[nic], range)) return;
    std::vector<SentRange>& further = further_[nic];
    for (SentRange& known : further)
      if (join(known, range)) return;
    // Too many gaps for an honest agent: the numbers are kept, which of the streams they are is off by one.
    if (further.size() >= kMaxRanges)
      further.back().end += range.count();
    else
      further.push_back(range);
  }
  void add(const SentRanges& other) {
    for (std::uint32_t nic = 0; nic < other.first_.size(); ++nic) add(nic, other.first_[nic]);
    for (const auto& [nic, ranges] : other.further_)
      for (const SentRange& range : ranges) add(nic, range);
  }

  template <class Visit>
  void for_each(std::uint32_t nic, Visit visit) const {
    if (first_[nic].count() > 0) visit(first_[nic]);
    if (further_.empty()) return;
    if (const auto at = further_.find(nic); at != further_.end()) std::ranges::for_each(at->second, visit);
  }
  std::uint64_t sent(std::uint32_t nic) const {
    std::uint64_t all = 0;
    for_each(nic, [&](SentRange range) { all += range.count(); });
    return all;
  }
  std::uint64_t sent(std::uint32_t nic, std::uint64_t stream, std::uint64_t streams) const {
    std::uint64_t all = 0;
    for_each(nic, [&](SentRange range) { all += sent_of(range, stream, streams); });
    return all;
  }

 private:
  static constexpr std::size_t kMaxRanges = 64;

  static bool join(SentRange& known, SentRange range) {
    if (known.count() == 0)
      known = range;
    else if (known.end == range.first)
      known.end = range.end;
    else if (known.first == range.end)
      known.first = range.first;
    else
      return false;
    return true;
  }

  std::vector<SentRange> first_;                                       // by NIC
  std::unordered_map<std::uint32_t, std::vector<SentRange>> further_;  // of those with gaps
};

}  // namespace weft::watch
