#include "balancer/export/port_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "balancer/export/slurm_node.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/private_file.hpp"
#include "topology/os/run_program.hpp"

namespace weft::exports {
namespace {

constexpr const char* kMarks = "marks.json";
constexpr const char* kLock = "lock";
constexpr std::string_view kSchema = "weft.port_marks/1";
constexpr Bytes kMaxMarks = Bytes(64'000'000);
constexpr Bytes kMaxOutput = Bytes(1'000'000);

constexpr std::string_view state_of(bool up) { return up ? "up" : "down"; }

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_port_name(PortDialect dialect, std::string_view name) {
  const std::string_view prefix = dialect == PortDialect::sonic ? "Ethernet" : "swp";
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto lane = dialect == PortDialect::cumulus ? name.find('s') : std::string_view::npos;
  return is_number(name.substr(0, lane)) &&
         (lane == std::string_view::npos || is_number(name.substr(lane + 1)));
}

}  // namespace

std::optional<std::string> port_text(PortDialect dialect, std::string_view port, bool up) {
  if (!is_port_name(dialect, port)) return std::nullopt;
  if (dialect == PortDialect::cumulus)
    return fmt::format("nv set interface {} link state {}\n", port, state_of(up));
  return fmt::format(R"({{"path": "/sonic-db:CONFIG_DB/localhost/PORT/{}/admin_status", "value": "{}"}})",
                     port, state_of(up));
}

std::string port_typed(PortDialect dialect, std::string_view port, bool up) {
  if (dialect == PortDialect::sonic)
    return fmt::format("sudo config interface {} {}", up ? "startup" : "shutdown", port);
  return fmt::format("nv set interface {} link state {} && nv config apply -y", port, state_of(up));
}

Result<PortMarks> parse_port_marks(std::string_view text, std::string_view what, std::string_view fabric) {
  const auto word = [](const files::JsonView& of, std::string_view key) -> Result<std::string> {
    WEFT_TRY(const auto member, of.need(key));
    WEFT_TRY(const auto found, member.text());
    return std::string(found);
  };
  WEFT_TRY(const auto value, files::parse_json(text, what));
  const files::JsonView view(value, what);
  WEFT_TRY(const auto schema, word(view, "schema"));
  if (schema != kSchema) return view.error("schema: expected {}", kSchema);
  WEFT_TRY(const auto whose, word(view, "fabric"));
  if (whose != fabric)
    return fail(ErrorKind::conflict,
                "{}: these are the marks of fabric {}: give each fabric a --dir of its own", what, whose);
  PortMarks marks;
  WEFT_TRY(const auto list, view.need("marks"));
  WEFT_TRY(const auto count, list.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto item = list.at(i);
    ShutPort shut;
    WEFT_TRY(const auto link, word(item, "link"));
    WEFT_TRY(shut.node, word(item, "switch"));
    WEFT_TRY(shut.port, word(item, "port"));
    WEFT_TRY(shut.mark, word(item, "mark"));
    WEFT_TRY(const auto in_effect, item.need("in_effect"));
    WEFT_TRY(shut.in_effect, in_effect.boolean());
    const bool is_file_name = !shut.node.empty() && shut.node.find('/') == std::string::npos;
    const bool is_port =
        is_port_name(PortDialect::sonic, shut.port) || is_port_name(PortDialect::cumulus, shut.port);
    if (!is_port || !is_file_name || !mark_in_reason(shut.mark))
      return item.error("expected a switch, a port and a mark as weft writes them");
    if (!marks.emplace(link, std::move(shut)).second) return item.error("link {} stands twice", link);
  }
  return marks;
}

Translation PortTarget::translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                                  const blacklist::Policy& policy) const {
  auto all = translate_for_program(ledger, fabric, policy);
  std::erase_if(all.demands, [](const Demand& demand) { return demand.effect.links.empty(); });
  return all;
}

Result<void> PortTarget::check_rights() {
  if (access(files_.directory.c_str(), W_OK | X_OK) == 0) return {};
  return fail(ErrorKind::permission, "nothing was changed: {}: {}", files_.directory.string(),
              std::generic_category().message(errno));
}

/// Where marks were, that none are there says nothing: a directory that is away would look the same.
Result<PortMarks> PortTarget::read_marks() const {
  const auto path = files_.directory / kMarks;
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  if (found.type() == std::filesystem::file_type::regular) {
    WEFT_TRY(const auto text, files::read_text_file(path, kMaxMarks));
    return parse_port_marks(text, path.string(), fabric_.name());
  }
  const bool is_empty =
      std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found &&
      std::filesystem::is_directory(files_.directory, error);
  if (files_.is_new && is_empty) return PortMarks();
  return fail(
      ErrorKind::absent,
      "{}: there is no such file of marks: nothing is concluded or changed. Where this fabric's ports "
      "were never shut by way of {}, --new-dir begins it",
      path.string(), files_.directory.string());
}

Result<void> PortTarget::write_marks(const PortMarks& marks) const {
  nlohmann::ordered_json document;
  document["schema"] = kSchema;
  document["fabric"] = fabric_.name();
  document["marks"] = nlohmann::ordered_json::array();
  for (const auto& [link, shut] : marks)
    document["marks"].push_back({{"link", link},
                                 {"switch", shut.node},
                                 {"port", shut.port},
                                 {"mark", shut.mark},
                                 {"in_effect", shut.in_effect}});
  return os::write_whole_file(files_.directory / kMarks, document.dump(1) + "\n", os::kReadByAll,
                              os::Existing::replaced);
}

Result<std::vector<Standing>> PortTarget::read(std::span<const std::string> objects) {
  WEFT_TRY(marks_, read_marks());
  std::vector<Standing> standings;
  for (const auto& [link, shut] : marks_)
    standings.push_back({.object = link,
                         .whose = Whose::weft,
                         .text = shut.mark + (shut.in_effect ? "" : " (not in effect)"),
                         .mark = mark_in_reason(shut.mark),
                         .in_effect = shut.in_effect && is_at(link, shut)});
  for (const std::string& object : objects)
    if (!marks_.contains(object) && fabric_.find_link(object))
      standings.push_back({.object = object, .text = "in service"});
  return standings;
}

Result<ShutPort> PortTarget::place_of(const Change& change, const PortMarks& marks) const {
  if (const auto at = marks.find(change.object); at != marks.end()) return at->second;
  WEFT_TRY(const auto link, fabric_.find_link(change.object));
  std::array ends{fabric_.link(link).a, fabric_.link(link).b};
  const auto tier = [this](PortId port) { return fabric_.node(fabric_.port(port).node).tier; };
  if (tier(ends[1]) < tier(ends[0])) std::swap(ends[0], ends[1]);
  for (const PortId end : ends)
    if (const Port& port = fabric_.port(end); port_text(dialect_, port.name, false))
      return ShutPort{fabric_.name_of(port.node), port.name, change.set};
  return fail(ErrorKind::usage,
              "neither {} nor {} is a port of {} by its own name: give port_names in the fabric file, or let "
              "weft topology discover find them",
              fabric_.name_of(ends[0]), fabric_.name_of(ends[1]), name());
}

/// Still there, as the fabric file has the link.
bool PortTarget::is_at(const std::string& name, const ShutPort& shut) const {
  const auto link = fabric_.find_link(name);
  if (!link) return true;  // the file has it no more, and says nothing of the port
  return std::ranges::any_of(std::array{fabric_.link(*link).a, fabric_.link(*link).b}, [&](PortId end) {
    return fabric_.name_of(fabric_.port(end).node) == shut.node && fabric_.port(end).name == shut.port;
  });
}

std::vector<std::string> PortTarget::prepare(std::span<Change> changes) {
  std::vector<std::string> refused(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto place = place_of(changes[i], marks_);
    if (!place)
      refused[i] = place.error().message;
    else if (changes[i].act != Act::take && !is_at(changes[i].object, *place))
      refused[i] = fmt::format(
          "it was shut at {}/{}, where the fabric file has it no more: correct the file, or release its "
          "entry, sync, and add it again",
          place->node, place->port);
  }
  return refused;
}

Result<void> PortTarget::change_switch(const std::string& node, const std::string& text) const {
  const auto file = files_.directory / (node + (dialect_ == PortDialect::sonic ? ".sonic" : ".nv"));
  WEFT_TRY_VOID(os::write_whole_file(file, text, os::kReadByAll, os::Existing::replaced));
  auto said =
      os::run_strange_program({files_.program, node, file}, "", files_.limit, kMaxOutput, os::Leftovers::all);
  if (said) return {};
  // A status other than 0 is the program's error, not ours.
  return fail(ErrorKind::absent, "{}: {}", node, said.error().message);
}

/// Switch by switch, those whose last change failed at the end, so that one that hangs keeps no other from
/// its turn. What is to change is in the marks before its tool is started, and is in effect once that has
/// ended well: a run that is killed between leaves what the next one makes good.
Result<void> PortTarget::apply(std::span<const Change> changes) {
  const auto path = files_.directory / kLock;
  const os::FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!lock)
    return fail(ErrorKind::permission, "{}: {}", path.string(), std::generic_category().message(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::conflict, "{}: another weft is at work there", files_.directory.string());
  WEFT_TRY(auto marks, read_marks());
  std::map<std::pair<bool, std::string>, std::vector<const Change*>> by_switch;
  for (const Change& change : changes) {
    WEFT_TRY(auto place, place_of(change, marks));
    if (!port_text(dialect_, place.port, true))
      return fail(ErrorKind::usage, "{}: {} is no port of {}: it was shut by another --to", change.object,
                  place.port, name());
    const bool is_shut = marks.contains(change.object);
    if (change.act == Act::take && !is_shut) continue;  // somebody was there first
    const bool has_failed = is_shut && !place.in_effect;
    by_switch[{has_failed, place.node}].push_back(&change);
    place.in_effect = false;
    if (change.act != Act::take) place.mark = change.set;
    marks[change.object] = std::move(place);
  }
  WEFT_TRY_VOID(write_marks(marks));
  Result<void> done;
  for (const auto& [at, its] : by_switch) {
    std::vector<std::string> lines;
    for (const Change* change : its)
      lines.push_back(
          port_text(dialect_, marks.at(change->object).port, change->act == Act::take).value_or(""));
    const auto changed =
        change_switch(at.second, dialect_ == PortDialect::sonic
                                     ? fmt::format("[{}]\n", fmt::join(lines, ",\n "))
                                     : fmt::format("{}nv config apply -y\n", fmt::join(lines, "")));
    if (!changed) {
      if (done) done = changed;
      continue;
    }
    for (const Change* change : its)
      if (change->act == Act::take)
        marks.erase(change->object);
      else
        marks.at(change->object).in_effect = true;
    WEFT_TRY_VOID(write_marks(marks));
  }
  return done;
}

std::string PortTarget::by_hand(const Change& change) const {
  const auto place = place_of(change, marks_);
  if (!place) return place.error().message;
  return fmt::format("on {}: {}", place->node, port_typed(dialect_, place->port, change.act == Act::take));
}

}  // namespace weft::exports
