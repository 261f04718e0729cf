#include <cmath>
#include <nlohmann/json.hpp>

#include "collectors/nccl/slow.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"

namespace weft::nccl {
namespace {

constexpr std::size_t kIndent = 2;

std::string time_text(double seconds) { return readable(Nanoseconds(std::llround(seconds * 1e9))); }

std::string place_text(const SlowPlace& place) {
  switch (place.cause) {
    case SlowCause::network:
      return fmt::format("the network from rank {} to rank {}", place.rank, place.peer);
    case SlowCause::gpu:
      return fmt::format("the GPU of rank {}", place.rank);
    case SlowCause::peer:
      return fmt::format("rank {}, which posts no receive for rank {}", place.peer, place.rank);
    case SlowCause::data:
      return fmt::format("data of rank {}, which tells nothing, at rank {}", place.peer, place.rank);
    case SlowCause::unclear:
      return "no single place";
  }
  return "";
}

files::DocumentTree place_tree(const SlowPlace& place) {
  files::DocumentTree tree{{"cause", to_string(place.cause)}};
  if (place.rank >= 0) tree["rank"] = place.rank;
  if (place.peer >= 0) tree["peer"] = place.peer;
  return tree;
}

/// Ranks count within a communicator: which it is, where there are several.
std::string in(const SlowReport& report, const std::string& communicator) {
  return report.communicators > 1 ? fmt::format(" (communicator {})", communicator) : "";
}

/// A line of it, in lines that fit.
std::string told(std::string_view line, std::size_t columns) { return wrapped(line, 0, columns, kIndent); }

}  // namespace

std::string slow_text(const SlowReport& report, std::size_t columns, std::size_t most) {
  std::string text =
      told(fmt::format("{} ranks told of {} collectives, {} operations{}{}", report.ranks, report.collectives,
                       report.operations,
                       report.dropped > 0 ? fmt::format("; {} events found no room", report.dropped) : "",
                       report.unread > 0 ? fmt::format("; {} lines cannot be read", report.unread) : ""),
           columns);
  for (const auto& note : report.notes) text += told(note, columns);
  for (const NeverEnded& one : report.never)
    text += told(fmt::format("{} {}{}: rank {} {} rank {}, has waited for the {} for {} and has not ended",
                             one.function, one.sequence, in(report, one.communicator), one.rank,
                             one.sends ? "sends to" : "receives from", one.peer, to_string(one.wait),
                             time_text(one.seconds)),
                 columns);
  for (const SlowStanding& one : report.standing)
    text += told(fmt::format("slow all the time: {}{}: {} a step, {} elsewhere", place_text(one.place),
                             in(report, one.communicator), time_text(one.seconds), time_text(one.usual)),
                 columns);
  if (!report.slow.empty()) {
    text += told(fmt::format("{} collectives took more than {} times as long as usual", report.slow.size(),
                             kSlowFactor),
                 columns);
    TextTable table(
        {{"COLLECTIVE"}, {"COUNT", true}, {"BY"}, {"TOOK", true}, {"USUAL", true}, {"LOST", true}, {"TO"}});
    for (const SlowCollective& one : report.slow) {
      if (most-- == 0) break;
      table.add({fmt::format("{} {}", one.function, one.sequence), std::to_string(one.count), one.choice,
                 time_text(one.seconds), time_text(one.usual), time_text(one.lost),
                 place_text(one.place) + in(report, one.communicator)});
    }
    text += table.text(columns, kIndent);
  }
  for (const SuspectLink& link : report.links)
    text += told(fmt::format("the network: link {}{}, with confidence {:.2f}", link.link,
                             link.from.empty() ? "" : " (sent by " + link.from + ")", link.confidence),
                 columns);
  for (const auto& set : report.alternatives)
    text += told(fmt::format("the network: one of {}", fmt::join(set, ", ")), columns);
  for (const auto& line : report.evidence) text += told(line, columns);
  if (report.is_healthy() && report.operations > 0) text += "nothing is slow\n";
  return text;
}

std::string slow_json(const SlowReport& report, const files::DocumentStamp& stamp) {
  files::DocumentTree json = files::stamped_tree("weft.nccl_slow/1", stamp);
  json["ranks"] = report.ranks;
  json["collectives"] = report.collectives;
  json["operations"] = report.operations;
  json["dropped"] = report.dropped;
  json["unread_lines"] = report.unread;
  auto& slow = json["slow"] = files::DocumentTree::array();
  for (const SlowCollective& one : report.slow)
    slow.push_back({{"communicator", one.communicator},
                    {"function", one.function},
                    {"sequence", one.sequence},
                    {"count", one.count},
                    {"type", one.type},
                    {"by", one.choice},
                    {"seconds", one.seconds},
                    {"usual_seconds", one.usual},
                    {"lost_seconds", one.lost},
                    {"place", place_tree(one.place)}});
  auto& standing = json["standing"] = files::DocumentTree::array();
  for (const SlowStanding& one : report.standing)
    standing.push_back({{"communicator", one.communicator},
                        {"place", place_tree(one.place)},
                        {"step_seconds", one.seconds},
                        {"usual_step_seconds", one.usual}});
  auto& never = json["never_ended"] = files::DocumentTree::array();
  for (const NeverEnded& one : report.never)
    never.push_back({{"communicator", one.communicator},
                     {"function", one.function},
                     {"sequence", one.sequence},
                     {"rank", one.rank},
                     {"peer", one.peer},
                     {"sends", one.sends},
                     {"waits_for", to_string(one.wait)},
                     {"seconds", one.seconds}});
  json["notes"] = report.notes;
  auto& links = json["links"] = files::DocumentTree::array();
  for (const SuspectLink& link : report.links) {
    links.push_back({{"link", link.link}, {"confidence", link.confidence}});
    if (!link.from.empty()) links.back()["from"] = link.from;
  }
  json["alternatives"] = report.alternatives;
  json["evidence"] = report.evidence;
  return files::document_text(json);
}

}  // namespace weft::nccl
