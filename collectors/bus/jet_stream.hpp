// JetStream over a kept connection: its requests and answers are JSON (docs.nats.io, "JetStream wire API").
// What a server answers is outside text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/bus/kept_connection.hpp"

namespace weft::bus {

/// A stream's answer to a message.
struct PubAck {
  std::string stream;
  std::uint64_t sequence = 0;
  bool duplicate = false;  // it kept the message of this id before
};
/// Errors: conflict (another message came last), absent (no room on the server), internal (all else).
Result<PubAck> read_ack(std::string_view answer);

/// A request of JetStream's API ("STREAM.INFO.NAME") and its answer, an object. Errors: those of
/// KeptConnection::request and of read_ack.
Result<nlohmann::json> ask_jet_stream(KeptConnection& connection, const std::string& what,
                                      std::string_view request, Nanoseconds limit);

/// Makes the stream unless there is one of this name.
Result<void> ensure_stream(KeptConnection& connection, const nlohmann::json& configuration,
                           Nanoseconds limit);

/// Publishes to the stream and waits for its acknowledgement; `last`: the sequence of the last message of
/// this subject (conflict: it is another one), 0: there is none. Sends once more when the answer does not
/// come: the stream knows the message again by `id`.
Result<PubAck> publish_expecting(KeptConnection& connection, std::string_view stream,
                                 const std::string& subject, std::uint64_t last, const std::string& id,
                                 std::string_view bytes, Nanoseconds limit);

struct StreamMessage {
  std::string subject;
  std::uint64_t sequence = 0;
  std::string bytes;
};
/// The last message of a subject; absent: there is none.
Result<std::optional<StreamMessage>> last_message(KeptConnection& connection, std::string_view stream,
                                                  const std::string& subject, Nanoseconds limit);

/// The first message of a subject behind `sequence`; absent: there is none.
Result<std::optional<StreamMessage>> next_message(KeptConnection& connection, std::string_view stream,
                                                  const std::string& subject, std::uint64_t sequence,
                                                  Nanoseconds limit);

/// An id that no other participant of a bus has: 16 hexadecimal digits, by chance.
std::string random_id();

/// Where a pulled message stands in its stream, and how many came before it from this consumer: from the
/// subject that it may be acknowledged on ($JS.ACK.STREAM.CONSUMER.TIMES.SEQUENCE.COUNT.TIME.PENDING, or with
/// a domain and an account before STREAM).
struct PulledAt {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;    // from 1
  std::uint64_t pending = 0;  // behind it
};
std::optional<PulledAt> read_pulled_at(std::string_view subject);

}  // namespace weft::bus
