// What the live page asks for: five seams, each of one fabric. The server's threads call them at the same
// time: implementations are thread-safe, answer from memory or from a database within a second, and hand out
// copies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probes/watch/watch_state.hpp"
#include "topology/base/result.hpp"
#include "topology/findings/port_warning.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/path.hpp"

namespace weft::web {

/// From its first moment to before its last, of the wall clock since 1970.
struct TimeRange {
  Nanoseconds from{};
  Nanoseconds to{};
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

struct ChannelSum {
  std::uint64_t sent = 0;  // probes and echoes whose path crossed the channel
  std::uint64_t lost = 0;  // of these, on any channel of their path
  friend bool operator==(const ChannelSum&, const ChannelSum&) = default;
};

/// Of a link in one bucket of the kept history.
struct LinkSums {
  Nanoseconds at{};
  Nanoseconds length{};
  ChannelSum a_to_b;
  ChannelSum b_to_a;
};

/// One that crosses a link, and what became of its probes over the last minute.
struct CrossingPath {
  PathLabel label;
  std::vector<ChannelId> channels;  // from NIC to NIC
  ChannelSum sum;
};

/// The ids of a state are of the fabric beside it; a watcher that took another file hands out both anew.
struct LiveView {
  std::shared_ptr<const Fabric> fabric;
  std::shared_ptr<const watch::WatchState> state;  // null: nothing has been looked at yet
};

class LiveSource {
 public:
  virtual ~LiveSource() = default;
  virtual LiveView view() const = 0;
  /// The worst first, at most `most`.
  virtual Result<std::vector<CrossingPath>> paths_over(LinkId link, std::size_t most) const = 0;
};

class HistorySource {
 public:
  virtual ~HistorySource() = default;
  /// What is kept; `from` equals `to` where nothing is.
  virtual TimeRange kept() const = 0;
  /// Incidents of which a part lies in the range, closed and dismissed ones too, as they are today; the last
  /// to begin first, at most `most`.
  virtual Result<std::vector<Incident>> incidents(TimeRange range, std::size_t most) const = 0;
  /// In the order of time, in buckets as fine as are kept and `most` allows.
  virtual Result<std::vector<LinkSums>> link_sums(LinkId link, TimeRange range, std::size_t most) const = 0;
  /// Of the bucket that holds `at`, by ChannelId; empty where none is kept.
  virtual Result<std::vector<ChannelSum>> sums_at(Nanoseconds at) const = 0;
};

struct MuteWish {
  std::string place;    // a link or a node, by its name
  Nanoseconds after{};  // it begins so much later
  Nanoseconds length{};
  std::string reason;
  std::string who;
};

struct StandingMute {
  std::string place;
  std::string who;
  std::string reason;
  Nanoseconds from{};  // may be ahead
  Nanoseconds until{};
};

class MuteSource {
 public:
  virtual ~MuteSource() = default;
  virtual Result<std::vector<StandingMute>> mutes() const = 0;
  virtual Result<void> add(const MuteWish& wish) = 0;
  /// All mutes of this place. Error: not_found, there is none.
  virtual Result<void> remove(std::string_view place) = 0;
};

/// A link that work is kept away from, as a blacklist has it.
struct AvoidedLink {
  LinkId link;
  Verdict verdict = Verdict::degraded;
  double confidence = 0;
  std::vector<std::string> evidence;
  Nanoseconds first_seen{};
  Nanoseconds last_seen{};
  std::optional<Nanoseconds> until = std::nullopt;  // over: it is kept away no longer; absent: until released
  std::string owner;
  std::vector<std::string> actions;  // what was done about it
};

struct Avoided {
  std::vector<AvoidedLink> links;
  std::size_t unknown = 0;  // entries of links that the fabric does not have
  std::string trouble;      // why it could not be read; the links are of the last time that it could
};

class AvoidSource {
 public:
  virtual ~AvoidSource() = default;
  virtual Avoided avoided() const = 0;
};

class WarningSource {
 public:
  virtual ~WarningSource() = default;
  virtual PortWarnings warnings() const = 0;
};

/// One fabric of the page. All but `live` may be absent: the page says so. All outlive the server.
struct PageFabric {
  std::string name;
  const LiveSource* live = nullptr;
  const HistorySource* history = nullptr;
  MuteSource* mutes = nullptr;
  const AvoidSource* avoided = nullptr;
  const WarningSource* warnings = nullptr;  // of counters of ports
};

}  // namespace weft::web
