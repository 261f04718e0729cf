// The seams between standing agents, watchers and what carries their messages. One thread per object unless
// said otherwise. Adapters: collectors/bus (NATS JetStream); tests: tests/fakes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::watch {

/// Of a window: a stream keeps each id once, however often it is sent.
struct MessageId {
  std::uint64_t boot = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const MessageId&, const MessageId&) = default;
};

/// The agent's end. Nothing here blocks for longer than it says, whether the bus is there or not.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  /// Begins to send a window. Error: it cannot be sent now (the bus is away, too many under way); the caller
  /// keeps it and tries again.
  virtual Result<void> publish(MessageId id, ByteSpan window) = 0;
  /// Windows that the server has acknowledged (its stream keeps them) since the last call.
  virtual std::vector<MessageId> acknowledged() = 0;
  /// Windows whose acknowledgement did not come in time or was refused, since the last call: to be sent
  /// again.
  virtual std::vector<MessageId> failed() = 0;
  /// The next message to this agent (an assignment in JSON); waits for `limit` at most.
  virtual Result<std::optional<std::string>> next_word(Nanoseconds limit) = 0;
  /// Says to the watcher that this agent is there, or goes: a short JSON text.
  virtual Result<void> send_text(std::string_view text) = 0;
  /// What the NICs of this host count, as nobody keeps it on the bus (collectors/counters/host_counters.hpp).
  virtual Result<void> report_counters(std::string_view text) = 0;
  /// The next request of an operator (label_messages.hpp), where one waits.
  virtual std::optional<std::string> next_label_request() = 0;
  virtual Result<void> answer_labels(std::string_view text) = 0;
};

struct ReceivedWindow {
  std::string host;            // as the subject has it, which its sender alone may use
  std::uint64_t sequence = 0;  // in the stream
  std::vector<std::byte> bytes;
};

/// What an agent says of itself.
struct AgentWord {
  std::string host;
  std::string text;
};

/// The watcher's end of the windows.
class WindowFeed {
 public:
  virtual ~WindowFeed() = default;
  /// Windows in the order of the stream, each once unless the watcher restarts; at most `most`; waits for the
  /// first one until `limit` is over.
  virtual Result<std::vector<ReceivedWindow>> fetch(std::size_t most, Nanoseconds limit) = 0;
  /// Passes over all windows that the stream has now.
  virtual Result<void> skip() = 0;
  /// What agents said since the last call.
  virtual std::vector<AgentWord> words() = 0;
  /// What agents told of the counters of their NICs since the last call. Where more came than is kept, the
  /// first of each agent are here.
  virtual std::vector<AgentWord> counters() = 0;
  virtual Result<void> send_to(std::string_view host, std::string_view text) = 0;
};

/// The end of an operator, who gives labels to the jobs of hosts (label_messages.hpp).
class OperatorLink {
 public:
  virtual ~OperatorLink() = default;
  virtual Result<void> send_to(std::string_view host, ByteSpan request) = 0;
  /// What agents answered since the last call; waits for the first one until `limit` is over.
  virtual std::vector<AgentWord> answers(Nanoseconds limit) = 0;
};

struct StoredEvent {
  std::uint64_t incident = 0;
  std::uint64_t sequence = 0;  // in the stream of all events
  std::string text;            // JSON, one line
};

/// The events of all incidents of a fabric.
class EventLog {
 public:
  virtual ~EventLog() = default;
  /// Appends; `last`: the stream's sequence of the incident's last event, 0 where it is the first. Returns
  /// the new sequence. Error: conflict, somebody else wrote meanwhile.
  virtual Result<std::uint64_t> append(std::uint64_t incident, std::uint64_t last, std::string_view text) = 0;
  /// Those behind `sequence`, in order, at most `most`; of a log that was made anew meanwhile, and counts
  /// from 1 again, all.
  virtual Result<std::vector<StoredEvent>> read_behind(std::uint64_t sequence, std::size_t most) = 0;
  /// The incident's last event; absent: it has none.
  virtual Result<std::optional<StoredEvent>> last_of(std::uint64_t incident) = 0;
};

struct StoredChange {
  std::uint64_t sequence = 0;
  std::string text;
};

/// The changes of something that several machines keep a copy of, in order.
class ChangeLog {
 public:
  virtual ~ChangeLog() = default;
  /// Appends; `last`: the sequence of the last change, 0 where there is none. Returns the new sequence.
  /// Errors: conflict, another one came last; after any other it may have been kept all the same.
  virtual Result<std::uint64_t> append(std::uint64_t last, std::string_view text) = 0;
  virtual Result<std::optional<StoredChange>> last() = 0;
  /// The first one behind `sequence`.
  virtual Result<std::optional<StoredChange>> next(std::uint64_t sequence) = 0;
};

/// Which of several watchers is active. Holding lasts until `time to live` after the last success of hold();
/// the holder must stop writing by its own steady clock before that.
class Lease {
 public:
  virtual ~Lease() = default;
  /// Takes or renews. False: another one has it.
  virtual Result<bool> hold(std::string_view holder) = 0;
  virtual Result<void> release() = 0;
};

/// A small value that all watchers of a fabric share: mutes, the version of the plan. Thread-safe.
class SharedValue {
 public:
  struct Stored {
    std::string text;
    std::uint64_t revision = 0;  // 0: there is none yet
  };
  virtual ~SharedValue() = default;
  virtual Result<Stored> get(std::string_view key) = 0;
  /// Error: conflict, its revision is another one by now.
  virtual Result<std::uint64_t> put(std::string_view key, std::uint64_t revision, std::string_view text) = 0;
};

}  // namespace weft::watch
