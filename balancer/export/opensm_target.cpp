#include "balancer/export/opensm_target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "balancer/export/link_standings.hpp"
#include "topology/os/run_program.hpp"

namespace weft::exports {
namespace {

std::string disabled_at(const SwitchPort& port) { return "disabled at " + port.name; }

}  // namespace

/// Reading needs the same rights as changing does, but for a subnet whose ports have keys.
Result<void> OpensmTarget::check_rights() {
  for (const char* program : {"ibportstate", "smpquery"})
    if (const auto said = os::run_program({program, "--version"}, "", calls_.limit);
        !said && said.error().kind != ErrorKind::internal)
      return fail(said.error().kind, "{}: it is part of infiniband-diags; nothing was changed",
                  said.error().message);
  auto asked = calls_.options;
  asked.insert(asked.begin(), "sminfo");
  const auto said = os::run_program(asked, "", calls_.limit);
  if (said && said->find("SMINFO_MASTER") != std::string::npos) return {};
  return fail(
      ErrorKind::absent,
      "no subnet manager answers as the master (sminfo{}{}), so nothing would lead around a port that "
      "is disabled; nothing was changed",
      said ? "" : ": ", said ? "" : said.error().message);
}

Result<std::vector<Standing>> OpensmTarget::read(std::span<const std::string> objects) {
  WEFT_TRY(const auto mads, open_());
  WEFT_TRY(auto discovery, discover::discover_subnet(*mads));
  WEFT_TRY(auto found, build_infiniband_fabric(discovery.subnet, fabric_.name()));
  WEFT_TRY(auto tables, read_tables(*mads, found, discovery.routes));
  links_.emplace(fabric_, std::move(discovery), std::move(found), std::move(tables.tables));
  return link_standings(fabric_, objects, [&](LinkId link) -> std::optional<LinkSeen> {
    if (!fabric_.between_switches(link)) return std::nullopt;
    const auto seen = links_->seen(link);
    return LinkSeen{seen.text, seen.state == SubnetLinks::State::disabled,
                    seen.state != SubnetLinks::State::unknown};
  });
}

Result<SwitchPort> OpensmTarget::end_of(const Change& change) const {
  if (!links_) return fail(ErrorKind::internal, "the subnet was not read");
  WEFT_TRY(const auto link, fabric_.find_link(change.object));
  if (change.act == Act::put) return links_->end_to_disable(link);
  const auto seen = links_->seen(link);
  if (seen.disabled.size() != 1)
    return fail(ErrorKind::conflict, "it is not disabled at one end alone, but {}", seen.text);
  return seen.disabled.front();
}

std::vector<std::string> OpensmTarget::prepare(std::span<Change> changes) {
  std::vector<std::string> refusals;
  if (links_) links_->restart();
  for (Change& change : changes) {
    const auto end = end_of(change);
    refusals.push_back(end ? "" : end.error().message);
    if (!end) continue;
    if (change.act == Act::put) change.set = disabled_at(*end);
    if (change.act == Act::pass) change.set = change.before;
    change.undo = change.act == Act::pass ? "" : typed(*end, change.act == Act::put ? "enable" : "disable");
    if (const auto link = fabric_.find_link(change.object); change.act == Act::put && link)
      links_->take_out(*link);
  }
  return refusals;
}

Result<void> OpensmTarget::apply(std::span<const Change> changes) {
  // All are looked at before the first is made: each with those before it out of use.
  std::vector<std::pair<SwitchPort, const char*>> calls;
  Result<void> first;
  const auto refuse = [&](const Change& change, const std::string& why) {
    if (first) first = fail(ErrorKind::conflict, "{}: {}", change.object, why);
  };
  for (const Change& change : changes) {
    if (change.act == Act::pass) continue;  // what stands there stays
    const auto end = end_of(change);
    if (!end) {
      refuse(change, end.error().message);
    } else if (change.act == Act::put && change.set != disabled_at(*end)) {
      refuse(change, "the routes have changed since this was planned: sync again");
    } else {
      calls.emplace_back(*end, change.act == Act::put ? "disable" : "enable");
      if (const auto link = fabric_.find_link(change.object); change.act == Act::put && link)
        links_->take_out(*link);
    }
  }
  // What goes wrong once is not tried with more ports.
  for (const auto& [port, what] : calls) {
    WEFT_TRY_VOID(check_is_there(port));
    WEFT_TRY_VOID(os::run_program(words("ibportstate", port, what), "", calls_.limit).map([](auto&&) {}));
  }
  return first;
}

/// That the tools, by whatever port of this host they go, find that switch at that LID.
Result<void> OpensmTarget::check_is_there(const SwitchPort& port) const {
  auto asked = calls_.options;
  asked.insert(asked.begin(), "smpquery");
  asked.insert(asked.end(), {"nodeinfo", std::to_string(port.lid.value())});
  WEFT_TRY(const auto said, os::run_program(asked, "", calls_.limit));
  const auto guid = fmt::format("{:#018x}", port.node.value());
  for (std::size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) {
    const auto line = std::string_view(said).substr(at, said.find('\n', at) - at);
    if (line.starts_with("Guid:") && line.ends_with(guid)) return {};
    if (said.find('\n', at) == std::string::npos) break;
  }
  return fail(
      ErrorKind::conflict,
      "{}: at LID {} there is another switch than {} for smpquery: it goes by another port of this host "
      "(--device, --port), or the LIDs have changed; nothing was changed there",
      port.name, port.lid.value(), guid);
}

/// By LID, as it was read a moment ago: a question of the subnet administrator for it may go over the very
/// link.
std::vector<std::string> OpensmTarget::words(const char* program, const SwitchPort& port,
                                             const char* what) const {
  auto words = calls_.options;
  words.insert(words.begin(), program);
  words.insert(words.end(), {std::to_string(port.lid.value()), std::to_string(port.port), what});
  return words;
}

/// By GUID: LIDs may be others when somebody types it.
std::string OpensmTarget::typed(const SwitchPort& port, const char* what) const {
  std::string line = "ibportstate ";
  for (const std::string& word : calls_.options) line += shell_word(word) + " ";
  return fmt::format("{}-G {:#018x} {} {}", line, port.node.value(), port.port, what);
}

std::string OpensmTarget::by_hand(const Change& change) const {
  return fmt::format("ibportstate at an end of {}: {}", change.object,
                     change.act == Act::put ? "disable" : "enable");
}

}  // namespace weft::exports
