// Webhook: sends events of incidents to a URL, each as a JSON POST with a signature, from a thread of its
// own. Whoever calls report() never waits: what the receiver does not take stands in a bounded queue and is
// tried again with growing pauses. Events go in their order; one may come twice, told by its X-Weft-Event.
// Nobody is told of suspicions nor of what is muted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "topology/files/incident_json.hpp"

namespace weft::webhook {

struct WebhookOptions {
  std::string url;     // https://HOST[:PORT]/PATH; http only to this host itself
  std::string secret;  // both sides know it (read_secret); empty: not signed
  Nanoseconds answer_within = std::chrono::seconds(5);
  Nanoseconds first_pause = std::chrono::seconds(1);  // doubles each time
  Nanoseconds longest_pause = std::chrono::minutes(5);
  int tries = 300;                    // of one event: a day at the longest pause
  std::size_t most_waiting = 10'000;  // above that the oldest are dropped
};

struct WebhookCounts {
  std::uint64_t sent = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dropped = 0;  // the queue was full, or all tries failed
  std::uint64_t refused = 0;  // by the receiver (status 4xx): not tried again
  std::string last_trouble;   // empty: the last try went well
};

/// A secret from a file that its owner alone can read and that is ours or root's. Errors: not_found,
/// permission, invalid_input (shorter than 16 bytes).
Result<std::string> read_secret(const std::filesystem::path& path);

/// "t=SECONDS,v1=HEX": HMAC-SHA256 of "SECONDS.BODY" with the secret. A receiver makes it anew, compares, and
/// refuses what is older than some minutes.
std::string signature(std::string_view secret, std::int64_t seconds, std::string_view body);

class Webhook {
 public:
  /// Error usage: the URL is none, or http to another host.
  static Result<std::unique_ptr<Webhook>> start(WebhookOptions options);
  virtual ~Webhook() = default;  // what waits is dropped; ends within answer_within
  virtual void report(const files::EventReport& event) = 0;
  /// Another watcher, or this one in an earlier life, was to report it: its receiver hears of its end.
  virtual void was_reported(const files::EventReport& event) = 0;
  virtual WebhookCounts counts() const = 0;
};

}  // namespace weft::webhook
