#include "collectors/bus/bucket_lease.hpp"

#include <fmt/format.h>

#include <utility>

#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/session/subject.hpp"

namespace weft::bus {
namespace {

using std::chrono::steady_clock;

/// A third of the time to live: a holder whose server is slow has two more tries.
constexpr auto kLeaseRequest = std::chrono::milliseconds(1000);

}  // namespace

std::string subject_in_bucket(std::string_view fabric, std::string_view key) {
  return fmt::format("$KV.{}.{}.{}", kBucket, session::subject_token(fabric), key);
}

BucketLease::BucketLease(std::shared_ptr<KeptConnection> connection, std::string subject,
                         Nanoseconds time_to_live)
    : connection_(std::move(connection)),
      subject_(std::move(subject)),
      time_to_live_(time_to_live),
      self_(random_id()) {}

Result<bool> BucketLease::hold(std::string_view holder) {
  if (mine_) {
    WEFT_TRY(const bool renewed, write(holder, *mine_));
    if (renewed) return true;
  }
  WEFT_TRY(const auto stored, last_message(*connection_, kBucketStream, subject_, kLeaseRequest));
  // Of ours: the answer to a write was lost. Others may be about to take it over, so it is written again.
  if (stored && stored->bytes.starts_with(self_ + ':')) return write(holder, stored->sequence);
  mine_.reset();
  if (!stored || stored->bytes.empty()) return write(holder, stored ? stored->sequence : 0);
  if (stored->sequence != seen_) {
    seen_ = stored->sequence;
    seen_at_ = steady_clock::now();
    return false;
  }
  if (steady_clock::now() - seen_at_ < time_to_live_) return false;
  return write(holder, seen_);
}

Result<void> BucketLease::release() {
  if (!mine_) return {};
  const auto last = *std::exchange(mine_, std::nullopt);
  const auto given_up =
      publish_expecting(*connection_, kBucketStream, subject_, last, next_id(), "", kLeaseRequest);
  if (!given_up && given_up.error().kind != ErrorKind::conflict) return pass_on(given_up);
  return {};
}

std::string BucketLease::next_id() { return fmt::format("{}:{}", self_, ++writes_); }

Result<bool> BucketLease::write(std::string_view holder, std::uint64_t last) {
  const auto id = next_id();
  const auto ack = publish_expecting(*connection_, kBucketStream, subject_, last, id,
                                     fmt::format("{} {}", id, holder), kLeaseRequest);
  if (!ack && ack.error().kind == ErrorKind::conflict) {
    mine_.reset();
    return false;
  }
  if (!ack) return pass_on(ack);
  mine_ = ack->sequence;
  return true;
}

}  // namespace weft::bus
