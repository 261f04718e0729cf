// Why collectives are slow, of the profiles of a job's ranks: which rank waits for its GPU, and which pair of
// ranks waits for its network. Pure.
#pragma once

#include <compare>

#include "collectors/nccl/path_evidence.hpp"
#include "collectors/nccl/profile.hpp"
#include "collectors/nccl/qp_places.hpp"
#include "topology/files/document.hpp"

namespace weft::nccl {

enum class SlowCause : std::uint8_t {
  network,  // rank sends to peer: posted, and not acknowledged; the peer waits for the data
  gpu,      // of rank: what is received waits for it
  peer,     // rank sends to peer, which has posted no receive
  data,     // rank waits for data of peer, which tells nothing
  unclear,
};
std::string_view to_string(SlowCause cause);

struct SlowPlace {
  SlowCause cause = SlowCause::unclear;
  std::int64_t rank = -1;
  std::int64_t peer = -1;  // -1: of the GPU
  friend auto operator<=>(const SlowPlace&, const SlowPlace&) = default;
};

/// A collective that took more than kSlowFactor times the median of its kind.
struct SlowCollective {
  std::string communicator;
  std::string function;
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::string type;
  std::string choice;  // "RING SIMPLE"
  double seconds = 0;
  double usual = 0;
  SlowPlace place;
  double lost = 0;  // seconds that went to it beyond what is usual
};

/// A place that is slow all the time: seconds a step, against the median of the others of its communicator.
struct SlowStanding {
  std::string communicator;
  SlowPlace place;
  double seconds = 0;
  double usual = 0;
};

/// A step that waits and never ended.
struct NeverEnded {
  std::string communicator;
  std::string function;
  std::uint64_t sequence = 0;
  std::int64_t rank = -1;
  std::int64_t peer = -1;
  bool sends = false;
  Wait wait = Wait::gpu;
  double seconds = 0;
};

struct SlowReport {
  std::size_t ranks = 0;          // that told something
  std::size_t communicators = 0;  // ranks are those of each
  std::size_t collectives = 0;    // sampled, over all ranks
  std::size_t operations = 0;
  std::uint64_t dropped = 0;
  std::size_t unread = 0;
  std::vector<SlowCollective> slow;    // the most time lost first
  std::vector<SlowStanding> standing;  // the greatest factor first
  std::vector<NeverEnded> never;       // the longest first
  std::vector<std::string> notes;      // ranks of one communicator with different tuner tables
  // Where queue pairs, fabric and path map were given (locate_slow):
  std::vector<SuspectLink> links;
  std::vector<std::vector<std::string>> alternatives;  // sets of channels of which one is at fault
  std::vector<std::string> evidence;
  bool is_healthy() const { return slow.empty() && standing.empty() && never.empty() && notes.empty(); }
};

/// Twice the median: the time of a collective varies by tens of percent where nothing is wrong.
inline constexpr double kSlowFactor = 2;
/// Of fewer of a kind nobody knows what is usual.
inline constexpr std::size_t kMinOfKind = 4;
inline constexpr std::size_t kMinPlaces = 3;
/// What goes by faster is not worth telling.
inline constexpr double kMinLost = 100e-6;  // seconds

SlowReport explain_slow(const std::vector<RankProfile>& profiles);

/// Where the network is what collectives wait for: by which queue pairs the steps went that waited, which
/// paths these have, and the link that explains them and none of the others.
void locate_slow(const std::vector<RankProfile>& profiles, const std::vector<QpTable>& tables,
                 const JobFabric& fabric, SlowReport& report);

/// No line is wider than `columns`; at most `most` collectives are shown.
std::string slow_text(const SlowReport& report, std::size_t columns, std::size_t most);
/// weft.nccl_slow/1 (docs/schema/nccl_slow.schema.json).
std::string slow_json(const SlowReport& report, const files::DocumentStamp& stamp);

}  // namespace weft::nccl
