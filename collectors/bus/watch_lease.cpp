#include "collectors/bus/watch_lease.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/random_id.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/session/subject.hpp"

namespace weft::bus {
namespace {

using std::chrono::steady_clock;

/// A third of the time to live: a holder whose server is slow has two more tries.
constexpr auto kLeaseRequest = std::chrono::milliseconds(1000);
constexpr auto kRequest = std::chrono::seconds(3);

class BucketLease : public watch::Lease {
 public:
  BucketLease(std::shared_ptr<KeptConnection> connection, std::string subject, Nanoseconds time_to_live)
      : connection_(std::move(connection)), subject_(std::move(subject)), time_to_live_(time_to_live) {}

  Result<bool> hold(std::string_view holder) override {
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

  Result<void> release() override {
    if (!mine_) return {};
    const auto last = *std::exchange(mine_, std::nullopt);
    const auto given_up =
        publish_expecting(*connection_, kBucketStream, subject_, last, next_id(), "", kLeaseRequest);
    if (!given_up && given_up.error().kind != ErrorKind::conflict) return pass_on(given_up);
    return {};
  }

 private:
  std::string next_id() { return fmt::format("{}:{}", self_, ++writes_); }
  /// False: somebody else wrote behind `last`.
  Result<bool> write(std::string_view holder, std::uint64_t last) {
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

  std::shared_ptr<KeptConnection> connection_;
  const std::string subject_;
  const Nanoseconds time_to_live_;
  const std::string self_ = random_id();
  std::uint64_t writes_ = 0;
  std::optional<std::uint64_t> mine_;  // the revision by which we hold it
  std::uint64_t seen_ = 0;             // another's revision, and since when
  steady_clock::time_point seen_at_{};
};

class BucketValue : public watch::SharedValue {
 public:
  BucketValue(std::shared_ptr<KeptConnection> connection, std::string prefix)
      : connection_(std::move(connection)), prefix_(std::move(prefix)) {}

  Result<Stored> get(std::string_view key) override {
    WEFT_TRY(auto stored, last_message(*connection_, kBucketStream, subject(key), kRequest));
    if (!stored) return Stored();
    return Stored{std::move(stored->bytes), stored->sequence};
  }
  Result<std::uint64_t> put(std::string_view key, std::uint64_t revision, std::string_view text) override {
    WEFT_TRY(const auto ack, publish_expecting(*connection_, kBucketStream, subject(key), revision,
                                               fmt::format("{}:{}", self_, ++writes_), text, kRequest));
    return ack.sequence;
  }

 private:
  std::string subject(std::string_view key) const { return prefix_ + session::subject_token(key); }

  std::shared_ptr<KeptConnection> connection_;
  const std::string prefix_;
  const std::string self_ = random_id();
  std::atomic<std::uint64_t> writes_ = 0;
};

}  // namespace

std::unique_ptr<watch::Lease> make_lease(std::shared_ptr<KeptConnection> connection, std::string subject,
                                         Nanoseconds time_to_live) {
  return std::make_unique<BucketLease>(std::move(connection), std::move(subject), time_to_live);
}
std::unique_ptr<watch::SharedValue> make_shared_value(std::shared_ptr<KeptConnection> connection,
                                                      std::string prefix) {
  return std::make_unique<BucketValue>(std::move(connection), std::move(prefix));
}

}  // namespace weft::bus
