#include "collectors/bus/watch_streams.hpp"

#include <nlohmann/json.hpp>

#include "collectors/bus/jet_stream.hpp"
#include "probes/watch/window.hpp"

namespace weft::bus {
namespace {

using std::chrono::minutes;

constexpr auto kWindowsKept = minutes(20);
constexpr auto kEventsKept = std::chrono::hours(400 * 24);
/// In which a stream knows an id again. An agent that could not hear the acknowledgement sends again within
/// seconds; watchers know the ids of their own, for the case that it took longer. Each id costs the server
/// some 100 bytes.
constexpr auto kIdsKnown = minutes(5);
/// Two windows a second for twenty minutes: beyond that an agent pushes out its own. One that sends the
/// largest there can be may push out those of others, by bytes: they are gaps then, which are no health.
constexpr int kWindowsOfAgent = 2400;
constexpr std::size_t kHeaders = 1024;
constexpr std::size_t kMaxValue = 1'000'000;
constexpr std::size_t kMaxName = 128;

nlohmann::json stream(std::string_view name, const std::string& subjects, Nanoseconds kept, Nanoseconds ids,
                      std::uint64_t bytes, std::size_t longest) {
  return {{"name", name},
          {"subjects", {subjects}},
          {"retention", "limits"},
          {"storage", "file"},
          {"discard", "old"},
          {"num_replicas", 1},
          {"max_consumers", -1},
          {"max_msgs", -1},
          {"max_msgs_per_subject", -1},
          {"max_age", kept.count()},
          {"max_bytes", bytes},
          {"max_msg_size", longest},
          {"duplicate_window", ids.count()}};
}

}  // namespace

Result<void> ensure_streams(KeptConnection& connection, const StreamLimits& limits, Nanoseconds limit) {
  auto windows = stream(kWindowStream, "weft.obs.>", kWindowsKept, kIdsKnown, limits.windows,
                        watch::kMaxWindowBytes + kHeaders);
  windows["max_msgs_per_subject"] = kWindowsOfAgent;
  const auto events = stream(kEventStream, "weft.event.>", kEventsKept, minutes(2), limits.events, kMaxValue);
  auto bucket = stream(kBucketStream, fmt::format("$KV.{}.>", kBucket), Nanoseconds(0), minutes(2),
                       kBucketBytes, kMaxValue);
  bucket["max_msgs_per_subject"] = 1;
  bucket["discard"] = "new";
  bucket["deny_delete"] = true;
  bucket["allow_rollup_hdrs"] = true;
  for (const auto& wanted : {windows, events, bucket})
    WEFT_TRY_VOID(ensure_stream(connection, wanted, limit));
  return {};
}

Result<void> ensure_ledger_stream(KeptConnection& connection, Nanoseconds limit) {
  auto changes =
      stream(kLedgerStream, "weft.blacklist.*", Nanoseconds(0), minutes(2), kLedgerBytes, kMaxValue);
  changes["max_msgs_per_subject"] = kLedgerChanges;
  changes["discard"] = "new";  // of one fabric never for the sake of another
  changes["deny_delete"] = true;
  return ensure_stream(connection, changes, limit);
}

Result<void> check_names(std::string_view fabric, std::string_view participant) {
  for (const auto& [what, name] : {std::pair("fabric", fabric), std::pair("participant", participant)})
    if (name.empty() || name.size() > kMaxName)
      return fail(ErrorKind::invalid_input, "the name of the {} has {} bytes: 1 to {} are one", what,
                  name.size(), kMaxName);
  return {};
}

}  // namespace weft::bus
