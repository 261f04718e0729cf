// FakeWatchBus: both streams, the lease and the shared values of one fabric in memory, with ends for agents
// and watchers. It may go away, hold back or refuse acknowledgements, show windows twice, and let a lease run
// out by the clock of the test. Outlives its ends. Thread-safe, so agents and watchers may run in threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "probes/watch/seams.hpp"

namespace weft::fakes {

class FakeWatchBus {
 public:
  /// What the server does with a window that was published: keeps and acknowledges it; refuses it; keeps it
  /// without a word, so that the agent's limit ends (failed()); or keeps it and acknowledges it when
  /// acknowledge_held() is called.
  enum class Answer { acknowledges, refuses, forgets, holds };
  /// Of each window; acknowledges all by default. Called under the lock: it calls nothing of the bus.
  std::function<Answer(const std::string& host, watch::MessageId)> answers = [](const auto&, auto) {
    return Answer::acknowledges;
  };
  /// How often the feeds show a window; once by default.
  std::function<int(const watch::ReceivedWindow&)> shown = [](const auto&) { return 1; };
  /// The clock by which the lease runs out; the time to live.
  std::function<Nanoseconds()> clock = [] { return Nanoseconds(0); };
  Nanoseconds lease_time = std::chrono::seconds(3);
  /// Windows of one agent under way at most; more is an error of publish().
  std::size_t most_under_way = 256;
  /// So many of the next events are kept, and the answer that says so is lost.
  std::atomic<int> lost_answers = 0;

  /// From now on every call fails (agents hear nothing), or no longer. Windows under way fail.
  void set_away(bool away);
  /// Only this host's end, as of a cut cable.
  void set_away(const std::string& host, bool away);
  void acknowledge_held();
  /// The stream keeps no more than this many windows, the newest.
  void keep_windows(std::size_t most);
  /// Another watcher writes an event behind the back of all ends.
  std::uint64_t write_event(std::uint64_t incident, std::string text);
  /// The disk of the events was lost: they count from 1 again.
  void make_events_anew();
  std::vector<watch::ReceivedWindow> windows() const;
  std::vector<watch::StoredEvent> events() const;

  std::unique_ptr<watch::AgentLink> agent(std::string host);
  /// `behind`: the sequence in the stream; 0: all that is kept.
  std::unique_ptr<watch::WindowFeed> feed(std::uint64_t behind = 0);
  std::unique_ptr<watch::EventLog> event_log();
  std::unique_ptr<watch::Lease> lease();
  std::unique_ptr<watch::SharedValue> values();
  /// One at a time.
  std::unique_ptr<watch::OperatorLink> operator_link();

 private:
  class Agent;
  class Operator;
  class Feed;
  class Events;
  class TheLease;
  class Values;
  struct Link {  // of a host
    bool away = false;
    std::set<watch::MessageId> under_way;
    std::vector<watch::MessageId> acknowledged;
    std::vector<watch::MessageId> failed;
    std::deque<std::string> words;  // to it
    std::deque<std::string> label_requests;
  };

  Result<void> reach(const std::string& host);  // with the lock
  void keep(const std::string& host, watch::MessageId id, ByteSpan window);

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool away_ = false;
  std::map<std::string, Link> links_;
  std::set<std::pair<std::string, watch::MessageId>> ids_;
  std::deque<watch::ReceivedWindow> windows_;
  std::uint64_t last_window_ = 0;
  std::size_t most_windows_ = 1'000'000;
  std::map<std::uint64_t, std::deque<watch::AgentWord>> words_;     // to each feed, by its number
  std::map<std::uint64_t, std::deque<watch::AgentWord>> counters_;  // the same
  std::deque<watch::AgentWord> label_answers_;
  std::uint64_t feeds_ = 0;
  std::vector<watch::StoredEvent> events_;
  std::string holder_;
  Nanoseconds held_until_{};
  std::map<std::string, watch::SharedValue::Stored, std::less<>> values_;
  std::uint64_t last_revision_ = 0;
};

}  // namespace weft::fakes
