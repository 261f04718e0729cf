#include "collectors/bus/ledger_link.hpp"

#include <fmt/format.h>

#include "collectors/bus/bucket_lease.hpp"
#include "collectors/bus/jet_stream.hpp"
#include "probes/session/watch_subjects.hpp"

namespace weft::bus {
namespace {

constexpr auto kFirstConnection = std::chrono::seconds(8);
/// Others on this machine wait 5 s for the file that is locked meanwhile.
constexpr auto kRequest = std::chrono::seconds(4);

class StreamOfChanges : public watch::ChangeLog {
 public:
  StreamOfChanges(std::shared_ptr<KeptConnection> connection, std::string subject)
      : connection_(std::move(connection)), subject_(std::move(subject)) {}

  Result<std::uint64_t> append(std::uint64_t last, std::string_view text) override {
    WEFT_TRY(const auto ack, publish_expecting(*connection_, kLedgerStream, subject_, last,
                                               fmt::format("{}:{}", self_, ++writes_), text, kRequest));
    return ack.sequence;
  }
  Result<std::optional<watch::StoredChange>> last() override {
    return change_of(last_message(*connection_, kLedgerStream, subject_, kRequest));
  }
  Result<std::optional<watch::StoredChange>> next(std::uint64_t sequence) override {
    return change_of(next_message(*connection_, kLedgerStream, subject_, sequence, kRequest));
  }

 private:
  static Result<std::optional<watch::StoredChange>> change_of(Result<std::optional<StreamMessage>> read) {
    if (!read) return pass_on(read);
    if (!*read) return std::optional<watch::StoredChange>();
    return watch::StoredChange{(*read)->sequence, std::move((*read)->bytes)};
  }

  std::shared_ptr<KeptConnection> connection_;
  const std::string subject_;
  const std::string self_ = random_id();
  std::uint64_t writes_ = 0;
};

}  // namespace

Result<LedgerLink> connect_ledger_link(const NatsAddress& address, const std::string& fabric,
                                       const LedgerLinkOptions& options) {
  WEFT_TRY_VOID(check_names(fabric, options.name));
  const auto inbox = fmt::format("{}.{}", session::inbox_of(fabric, options.name), random_id());
  const auto connection =
      std::make_shared<KeptConnection>(address, options.name, inbox, std::vector<Listening>());
  WEFT_TRY_VOID(connection->wait_until_there(kFirstConnection));
  WEFT_TRY_VOID(ensure_streams(*connection, options.limits, kRequest));
  WEFT_TRY_VOID(ensure_ledger_stream(*connection, kRequest));
  return LedgerLink{std::make_unique<StreamOfChanges>(connection, session::ledger_subject(fabric)),
                    std::make_unique<BucketLease>(connection, subject_in_bucket(fabric, "blacklist-lease"),
                                                  options.lease_time)};
}

}  // namespace weft::bus
