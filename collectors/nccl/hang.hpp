// Why a job hangs, or is slow: of all ranks' dumps, RAS and the tables of queue pairs. The cause is a rank
// (never entered a collective, dead, stopped, its GPU behind, another operation than the others), or the
// network; then the stalled and the moving queue pairs are observations of their paths, and the diagnosis of
// the fabric names the link. What waits is called a victim. Where the evidence does not decide, the verdict
// is unknown and says why. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/nccl/job.hpp"
#include "collectors/nccl/path_evidence.hpp"
#include "collectors/nccl/qp_places.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::nccl {

enum class HangCause : std::uint8_t {
  none,           // nothing hangs
  never_entered,  // a rank's program did not come to the collective
  dead,           // a rank left no dump, and RAS calls it dead
  host,           // a rank does not answer, or its GPU did not start what the others' did
  mismatch,       // a rank called another operation, size or type
  order,          // ranks wait for each other in different groups
  network,        // work under way, nothing acknowledged
  slow_rank,      // the job moves; this rank comes last to its collectives
  slow_network,   // the job moves; queue pairs over this link always have work under way
  unknown,
};
std::string_view to_string(HangCause cause);
std::optional<HangCause> parse_hang_cause(std::string_view text);

/// What ends the wait, and when.
struct TimeLimit {
  std::string what;
  double seconds = 0;
  std::string how;  // 4.096 us * 2^20 * 8
};

/// The collective that hangs.
struct Collective {
  std::string group;
  std::string description;
  std::uint64_t number = 0;
  std::string operation;
};

struct HangVerdict {
  HangCause cause = HangCause::unknown;
  Verdict verdict = Verdict::unknown;
  std::string sentence;
  std::vector<Rank> ranks = {};  // at fault
  std::vector<Rank> victims = {};
  std::optional<Collective> collective = std::nullopt;
  std::vector<SuspectLink> links = {};
  std::vector<std::vector<std::string>> alternatives = {};  // sets of links of which one is at fault
  std::vector<std::string> evidence = {};
  std::vector<std::string> missing = {};  // what is not known, and what would tell it
  std::vector<TimeLimit> limits = {};     // those that run, the first to strike first
};

HangVerdict explain_hang(const HangInput& input, const std::optional<JobFabric>& fabric);

}  // namespace weft::nccl
