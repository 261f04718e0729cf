#include "balancer/export/slurm_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/os/run_program.hpp"

namespace weft::exports {
namespace {

/// More are asked for as all that there are: a command line has its bounds.
constexpr std::size_t kMaxNames = 64;
/// No node has it. slurmctld looks at the rights first and at the name then.
constexpr std::string_view kNoNode = "weft-no-such-node";

using Words = Scontrol::Words;

Words drain(std::string_view nodes, std::string_view reason) {
  return {"update", fmt::format("NodeName={}", nodes), "State=DRAIN", fmt::format("Reason={}", reason)};
}
/// RESUME would lift DOWN too.
Words undrain(std::string_view nodes) {
  return {"update", fmt::format("NodeName={}", nodes), "State=UNDRAIN"};
}

std::string typed(const Words& words) {
  std::string line = "scontrol";
  for (const std::string& word : words) line += " " + shell_word(word);
  return line;
}

/// As scontrol reads it from its stdin, where what stands in double quotes is one value. Nothing: its reader
/// takes some bytes for keys, and knows no way to write a double quote.
std::optional<std::string> line_of(const Words& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(word, is_plain)) return std::nullopt;
    const auto value = word.find('=') + 1;  // 0: none
    quoted.push_back(word.find(' ') == std::string::npos
                         ? word
                         : fmt::format("{}\"{}\"", word.substr(0, value), word.substr(value)));
  }
  return fmt::format("{}\n", fmt::join(quoted, " "));
}

/// Nodes of one reason in one.
std::vector<Words> updates_of(const std::vector<Change>& changes) {
  std::map<Words, Words> nodes;  // by what is set; nothing: taken off
  for (const Change& change : changes)
    nodes[change.act == Act::take ? Words() : Words{change.set}].push_back(change.object);
  std::vector<Words> updates;
  for (const auto& [set, names] : nodes) {
    const auto list = fmt::format("{}", fmt::join(names, ","));
    updates.push_back(set.empty() ? undrain(list) : drain(list, set.front()));
  }
  return updates;
}

/// Calls `each` with the first error kept: what was done, a reading shows.
template <class Calls, class Each>
Result<void> all_of(const Calls& calls, Each each) {
  Result<void> first;
  for (const auto& one : calls)
    if (const Result<void> done = each(one); !done && first) first = done;
  return first;
}

/// What a batch left undone, each by a call of its own: the scontrol may be a program that reads no lines,
/// the controller too slow for so many within one call's limit, and an error then says of which node it is.
Result<void> call_alone(const Scontrol& scontrol, const std::vector<Change>& changes, const Error& of_batch) {
  Words names;
  for (const Change& change : changes) names.push_back(change.object);
  const auto nodes = scontrol.nodes(names);
  if (!nodes) return tl::unexpected(of_batch);
  std::vector<Change> left;
  for (const Change& change : changes) {
    const auto at = std::ranges::find(*nodes, change.object, &SlurmNode::name);
    const auto standing = at == nodes->end() ? std::nullopt : standing_of(*at, change.object);
    if (!standing || standing->text == change.before) left.push_back(change);
  }
  return scontrol.call_each(updates_of(left));
}

/// One is made or ended; another name is another reservation.
Result<void> set_reservation(const Scontrol& scontrol, const Change& change) {
  const auto node = parse_slurm_object(change.object).node;
  if (change.act != Act::put) {
    const std::string name(name_in_reservation_text(change.before));
    if (name.empty()) return fail(ErrorKind::internal, "'{}' is no reservation", change.before);
    WEFT_TRY_VOID(scontrol.call(unreserve(name)).map([](auto&&) {}));
  }
  if (change.act == Act::take) return {};
  return scontrol.call(reserve(name_in_reservation_text(change.set), node)).map([](auto&&) {});
}

/// The list of active features is set as a whole: of what stands now, one more or one less.
Result<void> set_features(const Scontrol& scontrol, std::span<const Change> changes) {
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> wanted;  // on, off
  for (const Change& change : changes) {
    const auto [node, feature] = parse_slurm_object(change.object);
    (change.act == Act::take ? wanted[node].first : wanted[node].second).insert(feature);
  }
  if (wanted.empty()) return {};
  Words names;
  for (const auto& [name, features] : wanted) names.push_back(name);
  WEFT_TRY(const auto nodes, scontrol.nodes(names));
  std::map<std::string, Words> by_list;
  for (const SlurmNode& node : nodes) {
    const auto at = wanted.find(node.name);
    if (at == wanted.end()) continue;
    Words active;
    for (const std::string& feature : node.available) {
      const bool is_on = std::ranges::find(node.active, feature) != node.active.end();
      if ((is_on || at->second.first.contains(feature)) && !at->second.second.contains(feature))
        active.push_back(feature);
    }
    by_list[fmt::format("ActiveFeatures={}", fmt::join(active, ","))].push_back(node.name);
  }
  std::vector<Words> updates;
  for (const auto& [list, of] : by_list)
    updates.push_back({"update", fmt::format("NodeName={}", fmt::join(of, ",")), list});
  const auto done = scontrol.call_as_lines(updates);
  if (done || updates.size() < 2) return done;  // each sets a list as a whole: once more is the same
  return scontrol.call_each(updates);
}

}  // namespace

Result<std::string> Scontrol::call(Words words) const {
  words.insert(words.begin(), calls_.scontrol);
  return os::run_program(words, "", calls_.limit);
}

Result<void> Scontrol::call_each(const std::vector<Words>& commands) const {
  return all_of(commands, [&](const Words& words) { return call(words).map([](auto&&) {}); });
}

Result<void> Scontrol::call_as_lines(const std::vector<Words>& commands) const {
  std::string lines;
  std::vector<Words> alone;
  for (const Words& command : commands) {
    const auto line = line_of(command);
    line ? void(lines += *line) : alone.push_back(command);
  }
  if (std::ranges::count(lines, '\n') == 1) alone = commands, lines.clear();
  const auto said =
      lines.empty() ? Result<std::string>() : os::run_program({calls_.scontrol}, lines, calls_.limit);
  const auto done = call_each(alone);
  return said ? done : pass_on(said);
}

Result<std::vector<SlurmNode>> Scontrol::nodes(const Words& names) const {
  Words words{"-o", "show", "node"};
  if (names.size() <= kMaxNames) words.push_back(fmt::format("{}", fmt::join(names, ",")));
  // Of some that it does not have it ends with 1 and says nothing of the others.
  auto said = call(words);
  if (!said && said.error().message.find("not found") != std::string::npos && words.size() == 4) {
    words.pop_back();
    said = call(words);
  }
  if (!said && said.error().kind == ErrorKind::internal)  // it ended with 1: no fault of weft's
    return fail(ErrorKind::absent, "Slurm does not answer: {}", said.error().message);
  if (!said) return pass_on(said);
  return parse_slurm_nodes(*said);
}

Result<std::vector<SlurmReservation>> Scontrol::reservations() const {
  const auto said = call({"-o", "show", "reservation"});
  if (!said && said.error().kind == ErrorKind::internal)
    return fail(ErrorKind::absent, "Slurm does not answer: {}", said.error().message);
  if (!said) return pass_on(said);
  return parse_slurm_reservations(*said);
}

Result<void> SlurmTarget::check_rights() {
  const auto said = scontrol_.call(undrain(kNoNode));
  if (said || said.error().kind == ErrorKind::timeout || said.error().kind == ErrorKind::absent)
    return said ? Result<void>() : pass_on(said);
  const std::string& text = said.error().message;
  if (text.find("Invalid user id") == std::string::npos && text.find("denied") == std::string::npos)
    return {};
  return fail(ErrorKind::permission,
              "this user may not change nodes of Slurm ({}): run it as SlurmUser, or as an operator of its "
              "accounting; nothing was changed",
              text);
}

Result<std::vector<Standing>> SlurmTarget::read(std::span<const std::string> objects) {
  Words names;
  std::set<std::string> seen;
  for (const std::string& object : objects) {
    const auto node = parse_slurm_object(object).node;
    if (is_slurm_name(node) && seen.insert(node).second) names.push_back(node);
  }
  std::vector<Standing> standings;
  if (names.empty()) return standings;
  WEFT_TRY(const auto nodes, scontrol_.nodes(names));
  // Of an answer without any, all marks would count as gone.
  if (nodes.empty())
    return fail(ErrorKind::absent, "scontrol shows no node at all, {} were asked for: nothing was concluded",
                names.size());
  std::map<std::string, const SlurmNode*> by_name;
  for (const SlurmNode& node : nodes) by_name.emplace(node.name, &node);
  const std::set<std::string> asked(objects.begin(), objects.end());
  const bool of_reservations = scontrol_.host_mark() == HostMark::reservation ||
                               std::ranges::any_of(objects, [](const std::string& object) {
                                 return parse_slurm_object(object).feature == kReservation;
                               });
  std::vector<SlurmReservation> reserved;
  if (of_reservations) {
    WEFT_TRY(reserved, scontrol_.reservations());
  }
  for (const std::string& object : objects) {
    const auto [name, feature] = parse_slurm_object(object);
    const auto at = by_name.find(name);
    if (at == by_name.end()) continue;
    if (feature == kReservation) {
      standings.push_back(reservation_standing(*at->second, reserved));
      continue;
    }
    if (of_reservations && !asked.contains(feature_object(name, kReservation)))
      if (auto lost = reservation_standing(*at->second, reserved); lost.mark)
        standings.push_back(std::move(lost));  // a ledger that was lost knew it
    if (auto standing = standing_of(*at->second, object)) standings.push_back(std::move(*standing));
  }
  return standings;
}

Result<void> SlurmTarget::apply(std::span<const Change> changes) {
  std::vector<Change> nodes, features, reserved;
  for (const Change& change : changes) {
    const auto [node, feature] = parse_slurm_object(change.object);
    if (!is_slurm_name(node))
      return fail(ErrorKind::usage, "'{}' is no name of a node that scontrol can be given", change.object);
    if (feature == kReservation)
      reserved.push_back(change);
    else if (!feature.empty())
      features.push_back(change);
    else
      nodes.push_back(change);
  }
  const auto updates = updates_of(nodes);
  auto done = scontrol_.call_as_lines(updates);
  if (!done && updates.size() > 1) done = call_alone(scontrol_, nodes, done.error());
  const auto set = set_features(scontrol_, features);
  const auto kept =
      all_of(reserved, [&](const Change& change) { return set_reservation(scontrol_, change); });
  return !done ? done : !set ? set : kept;
}

std::string SlurmTarget::by_hand(const Change& change) const {
  const auto [node, feature] = parse_slurm_object(change.object);
  if (feature == kReservation)
    return typed(change.act == Act::take ? unreserve(name_in_reservation_text(change.before))
                                         : reserve(name_in_reservation_text(change.set), node));
  if (feature.empty()) return typed(change.act == Act::take ? undrain(node) : drain(node, change.set));
  return fmt::format("{} ActiveFeatures=(those of `scontrol show node {}` {} {})",
                     typed({"update", "NodeName=" + node}), node, change.act == Act::take ? "and" : "without",
                     feature);
}

}  // namespace weft::exports
