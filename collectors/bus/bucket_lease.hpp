// A lease over a key-value bucket that compares and sets. A holder writes a new revision with each renewal;
// another takes over when it has seen one revision for `time_to_live` of its own steady clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "collectors/bus/kept_connection.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

/// $KV.BUCKET.FABRIC.KEY, of the bucket that watchers share.
std::string subject_in_bucket(std::string_view fabric, std::string_view key);

class BucketLease : public watch::Lease {
 public:
  /// `subject`: of subject_in_bucket.
  BucketLease(std::shared_ptr<KeptConnection> connection, std::string subject, Nanoseconds time_to_live);

  Result<bool> hold(std::string_view holder) override;
  Result<void> release() override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  std::string next_id();
  /// False: somebody else wrote behind `last`.
  Result<bool> write(std::string_view holder, std::uint64_t last);

  std::shared_ptr<KeptConnection> connection_;
  const std::string subject_;
  const Nanoseconds time_to_live_;
  const std::string self_;
  std::uint64_t writes_ = 0;
  std::optional<std::uint64_t> mine_;  // the revision by which we hold it
  std::uint64_t seen_ = 0;             // another's revision, and since when
  TimePoint seen_at_{};
};

}  // namespace weft::bus
