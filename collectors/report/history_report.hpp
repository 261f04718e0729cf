// What a watcher kept of a time, for people and for programs (`weft.report/1`). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/files/document.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::report {

/// What was counted of a channel in a stretch of time.
struct HistoryStep {
  Nanoseconds begin{};  // since 1970
  Nanoseconds length{};
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  Verdict verdict = Verdict::unknown;
};

struct ChannelSteps {
  std::string channel;
  std::vector<HistoryStep> steps;  // ascending
};

/// Another module in a port of a cable, by names.
struct ModuleChange {
  std::string link, port;
  std::string before, after;  // serials
  Nanoseconds from{}, at{};   // the last reading of the one, the first of the other; since 1970
};

/// What was done about a cable, and whether its trouble came back. Only incidents count that opened and blame
/// this cable alone.
struct RepairOutcome {
  std::string link;
  Nanoseconds at{};  // the first reading of another module; when what was muted was seen last
  std::optional<ModuleChange> module = std::nullopt;  // else a mute
  std::string reason = {};                            // of the mute
  std::size_t before = 0, since = 0;  // incidents; of a mute those that were not muted at their end
  std::size_t meanwhile = 0;  // that came and went between the two readings: before the change or after it
  Nanoseconds watched{};      // for so long since then; of repair_outcomes() 0
};

/// Of cables with an incident among these, the latest first.
std::vector<RepairOutcome> repair_outcomes(const std::vector<files::EventReport>& incidents,
                                           const std::vector<ModuleChange>& modules);

/// A port that degrades, or counted errors in the last day, as the newest kept readings have it.
struct WarnedPort {
  std::string port, text, source;
  bool degrading = false;
  Nanoseconds at{};  // of its newest reading, since 1970
};

struct WatchHistory {
  std::string fabric;
  Nanoseconds from{};
  Nanoseconds until{};
  std::optional<std::string> place = std::nullopt;  // the link or node asked for; else all
  std::vector<files::EventReport> incidents;        // the last event of each, the latest first
  std::vector<files::OffenceReport> offences;       // the most often seen first
  std::vector<ChannelSteps> channels = {};          // of the link asked for
  /// By link: how likely it is one that fails again and again, as rates have it. Absent: nobody gave rates.
  std::optional<std::map<std::string, double>> offenders = std::nullopt;
  std::vector<RepairOutcome> repairs = {};  // the latest first
  std::vector<WarnedPort> ports = {};       // those that degrade first
};

/// At most `most` steps: neighbours put together.
std::vector<HistoryStep> thinned(const std::vector<HistoryStep>& steps, std::size_t most);

std::string history_table(const WatchHistory& history, std::size_t columns);
std::string history_json(const WatchHistory& history, const files::DocumentStamp& stamp);
/// The offences, one a line, for who repairs or replaces cables.
std::string offences_csv(const WatchHistory& history);

}  // namespace weft::report
