// What the queue pairs of a job tell of the network: which have work under way that nobody acknowledges,
// which always have work under way while others wait, and over which links they go. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/nccl/hang.hpp"
#include "collectors/nccl/job.hpp"
#include "collectors/nccl/qp_places.hpp"

namespace weft::nccl {

/// A message that is under way for so long is not acknowledged: 4 MB, more than NCCL posts at once, take 34
/// ms at 1 Gbit/s.
inline constexpr Nanoseconds kMinStall = std::chrono::seconds(1);

class QpView {
 public:
  /// `input` must outlive this.
  QpView(const HangInput& input, const Job& job);

  std::size_t count() const { return qps_.size(); }
  std::size_t stalled() const { return stalled_; }
  /// Queue pairs whose bytes grew between two tables by more than crumbs; the job is not at rest.
  std::size_t moving() const { return moving_; }
  std::size_t busy() const { return busy_; }
  /// Ranks that have queue pairs and nothing under way.
  std::vector<Rank> waiting() const;
  /// Seconds until the first stalled queue pair gives up, and how they are reckoned.
  TimeLimit time_limit() const;

  /// By queue pairs that stall; `busy`: by those that always have work under way.
  NetworkFindings locate(const JobFabric& fabric, bool busy) const;
  std::vector<std::string> remarks() const;

 private:
  struct Qp {
    const std::string* host = nullptr;
    const QpRecord* last = nullptr;
    const QpRecord* first = nullptr;  // of an earlier table; null: none
    Nanoseconds between{};
    bool stalled = false;
    bool busy = false;
    bool clean_stall = false;  // acknowledged since others stall
    bool clean_busy = false;   // moves without a queue
    std::optional<std::uint64_t> moved = std::nullopt;
    std::optional<double> busy_share = std::nullopt;
    std::optional<Rank> rank = std::nullopt;
  };
  void pair_tables(const HangInput& input, const Job& job);
  void judge_stalls();
  void judge_queues();

  std::vector<Qp> qps_;
  std::size_t stalled_ = 0;
  std::size_t moving_ = 0;
  std::size_t busy_ = 0;
  std::size_t failed_ = 0;  // with errors
  std::size_t unseen_ = 0;  // by the kernel's list alone, and twice where two tables tell of them
};

}  // namespace weft::nccl
