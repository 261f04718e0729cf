#include "balancer/export/opensm_target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/os/run_program.hpp"

namespace weft::exports {
namespace {

std::string disabled_at(const SwitchPort& port) { return "disabled at " + port.name; }

}  // namespace

/// Reading needs the same rights as changing does, but for a subnet whose ports have keys.
Result<void> OpensmTarget::check_rights() {
  auto asked = calls_.ibportstate;
  asked.emplace_back("--version");
  if (const auto said = os::run_program(asked, "", calls_.limit);
      !said && said.error().kind != ErrorKind::internal)
    return fail(said.error().kind, "{}: it is part of infiniband-diags; nothing was changed",
                said.error().message);
  return {};
}

Result<std::vector<Standing>> OpensmTarget::read(std::span<const std::string> objects) {
  WEFT_TRY(const auto mads, open_());
  WEFT_TRY(auto discovery, discover::discover_subnet(*mads));
  WEFT_TRY(auto found, build_infiniband_fabric(discovery.subnet, fabric_.name()));
  WEFT_TRY(auto tables, read_tables(*mads, found, discovery.routes));
  links_.emplace(fabric_, std::move(discovery), std::move(found), std::move(tables.tables));
  std::vector<bool> asked(fabric_.link_count(), false);
  std::vector<Standing> standings;
  for (const std::string& object : objects) {
    const auto link = fabric_.find_link(object);
    if (!link || !fabric_.between_switches(*link)) continue;
    asked[link->value()] = true;
    const auto seen = links_->seen(*link);
    standings.push_back({.object = object,
                         .whose = seen.disabled.empty() ? Whose::nobody : Whose::weft,
                         .text = seen.text,
                         .is_known = seen.state != SubnetLinks::State::unknown});
  }
  for (std::uint32_t i = 0; i < fabric_.link_count(); ++i) {
    const LinkId link(i);
    if (asked[i] || !fabric_.between_switches(link)) continue;
    if (const auto seen = links_->seen(link); seen.state == SubnetLinks::State::disabled)
      standings.push_back({.object = fabric_.name_of(link), .whose = Whose::others, .text = seen.text});
  }
  return standings;
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
  std::vector<std::vector<std::string>> calls;
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
      calls.push_back(words(*end, change.act == Act::put ? "disable" : "enable"));
      if (const auto link = fabric_.find_link(change.object); change.act == Act::put && link)
        links_->take_out(*link);
    }
  }
  for (const auto& call : calls)
    if (const auto said = os::run_program(call, "", calls_.limit); !said && first) first = pass_on(said);
  return first;
}

/// By LID, as it was read a moment ago: a question of the subnet administrator for it may go over the very
/// link.
std::vector<std::string> OpensmTarget::words(const SwitchPort& port, const char* what) const {
  auto words = calls_.ibportstate;
  words.insert(words.end(), {std::to_string(port.lid.value()), std::to_string(port.port), what});
  return words;
}

/// By GUID: LIDs may be others when somebody types it.
std::string OpensmTarget::typed(const SwitchPort& port, const char* what) const {
  std::string line;
  for (const std::string& word : calls_.ibportstate) line += shell_word(word) + " ";
  return fmt::format("{}-G {:#018x} {} {}", line, port.node.value(), port.port, what);
}

std::string OpensmTarget::by_hand(const Change& change) const {
  return fmt::format("ibportstate at an end of {}: {}", change.object,
                     change.act == Act::put ? "disable" : "enable");
}

}  // namespace weft::exports
