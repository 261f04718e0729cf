// `weft mute`: suppresses the alerts of a watcher for links and nodes, for a time.
#include <array>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/mute_list.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "cli/words.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/watch_link.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/files/time_span.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

void add_place_options(OptionParser& parser) {
  parser.options(Group::cluster)
      .add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric that is watched")(
          "credential", po::value<std::string>()->value_name("FILE"),
          "of a watcher: a file of weft bus init, which names the server");
}

/// The bus of a fabric, and the list of mutes there.
class MutedFabric {
 public:
  static Result<MutedFabric> open(const po::variables_map& values) {
    const auto path = text_option(values, "fabric");
    const auto credential = text_option(values, "credential");
    if (!path) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric that is watched");
    if (!credential)
      return fail(ErrorKind::usage, "--credential FILE is missing: that of a watcher, of weft bus init");
    WEFT_TRY(auto file, load_fabric_file(*path));
    WEFT_TRY(const auto bus, bus::read_bus_file(*credential));
    if (bus.fabric != file.fabric.name())
      return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", *credential,
                  bus.fabric, file.fabric.name());
    const auto limits = bus.limits.value_or(bus::StreamLimits{});
    WEFT_TRY(auto link,
             bus::connect_watch_link(bus.address(), bus.fabric, {.name = bus.name, .limits = limits}));
    return MutedFabric(std::move(file.fabric), std::move(link.values));
  }

  const Fabric& fabric() const { return *fabric_; }
  const MuteList& list() const { return list_; }

 private:
  MutedFabric(Fabric fabric, std::shared_ptr<watch::SharedValue> values)
      : fabric_(std::make_unique<const Fabric>(std::move(fabric))), list_(*fabric_, std::move(values)) {}
  std::unique_ptr<const Fabric> fabric_;
  MuteList list_;
};

Result<std::string> place_of(const po::variables_map& values) {
  const auto place = text_option(values, "place");
  if (!place) return fail(ErrorKind::usage, "which link or node? expected one, as leaf1--spine2");
  return *place;
}

std::string to_the_second(Nanoseconds since_1970) {
  return instant_text(std::chrono::floor<std::chrono::seconds>(since_1970));
}

Result<void> add(const po::variables_map& values) {
  WEFT_TRY(const auto place, place_of(values));
  const auto reason = text_option(values, "reason");
  if (!reason || reason->empty())
    return fail(ErrorKind::usage, "--reason TEXT is missing: who reads the list wants to know");
  WEFT_TRY(const auto span, read_option(values, "for", files::parse_span));
  if (!span) return fail(ErrorKind::usage, "--for TIME is missing, as in --for 2h: a mute ends by itself");
  WEFT_TRY(const auto ahead, read_option(values, "in", files::parse_span));
  WEFT_TRY(const auto muted, MutedFabric::open(values));
  WEFT_TRY(const auto target, files::find_mute_target(muted.fabric(), place));
  const Nanoseconds from = os::wall_now() + ahead.value_or(Nanoseconds(0));
  const Mute mute{target, from, from + *span, *reason, who_asks()};
  WEFT_TRY_VOID(muted.list().add(mute));
  print_wrapped(fmt::format("{} is muted until {}", place, to_the_second(mute.until)));
  return {};
}

Result<void> remove(const po::variables_map& values) {
  WEFT_TRY(const auto place, place_of(values));
  WEFT_TRY(const auto muted, MutedFabric::open(values));
  WEFT_TRY(const auto target, files::find_mute_target(muted.fabric(), place));
  WEFT_TRY(const bool was_there, muted.list().remove(target));
  fmt::print("{}\n", was_there ? place + " is muted no longer" : place + " was not muted");
  return {};
}

Result<void> list(const po::variables_map& values) {
  WEFT_TRY(const bool json, wants_json(values));
  WEFT_TRY(const auto muted, MutedFabric::open(values));
  WEFT_TRY(const auto mutes, muted.list().read());
  if (json) {
    fmt::print("{}\n", files::mutes_text(muted.fabric(), mutes));
    return {};
  }
  TextTable table({{"PLACE"}, {"FROM"}, {"UNTIL"}, {"WHO"}, {"REASON"}});
  for (const Mute& mute : mutes)
    table.add({name_of(muted.fabric(), mute.target), to_the_second(mute.from), to_the_second(mute.until),
               mute.who, mute.reason});
  fmt::print("{}", mutes.empty() ? "nothing is muted\n" : table.text(terminal_columns()));
  return {};
}

OptionParser mute_add_options() {
  OptionParser parser("weft mute add LINK|NODE --for TIME --reason TEXT [options]",
                      "Suppresses the alerts for a link or node for a time; it is still measured and shown.",
                      "  weft mute add leaf1--spine2 --for 2h --reason 'new optics' --fabric cluster.yaml "
                      "--credential bus/watchers/watcher.json\n");
  parser.options().add_options()("place", po::value<std::string>()->value_name("LINK|NODE"),
                                 "the link, or the node with all its links")(
      "for", po::value<std::string>()->value_name("TIME"), "how long, as 30m, 2h, 3d")(
      "in", po::value<std::string>()->value_name("TIME"), "it begins so much later (default: now)")(
      "reason", po::value<std::string>()->value_name("TEXT"), "why, for who reads the list");
  add_place_options(parser);
  parser.positional("place", 1);
  return parser;
}

OptionParser mute_list_options() {
  OptionParser parser("weft mute list [options]", "Lists what is muted, and until when.",
                      "  weft mute list --fabric cluster.yaml --credential bus/watchers/watcher.json\n");
  add_place_options(parser);
  add_output_option(parser.options(Group::output));
  return parser;
}

OptionParser mute_remove_options() {
  OptionParser parser(
      "weft mute remove LINK|NODE [options]", "Ends the mutes of a link or node.",
      "  weft mute remove leaf1--spine2 --fabric cluster.yaml --credential bus/watchers/watcher.json\n");
  parser.options().add_options()("place", po::value<std::string>()->value_name("LINK|NODE"),
                                 "the link or node");
  add_place_options(parser);
  parser.positional("place", 1);
  return parser;
}

int mute_add_command(const Arguments& arguments) { return run_command(mute_add_options(), arguments, add); }
int mute_list_command(const Arguments& arguments) {
  return run_command(mute_list_options(), arguments, list);
}
int mute_remove_command(const Arguments& arguments) {
  return run_command(mute_remove_options(), arguments, remove);
}

constexpr std::array<Command, 3> kWords{{
    {"add", "suppress the alerts for a link or node for a time", mute_add_command, mute_add_options},
    {"list", "what is muted, and until when", mute_list_command, mute_list_options},
    {"remove", "alert again for a link or node", mute_remove_command, mute_remove_options},
}};

}  // namespace

const WordGroup& mute_words() {
  static const WordGroup words{
      "mute", "suppress the alerts of a watcher for links and nodes", kWords,
      "  weft mute list --fabric cluster.yaml --credential bus/watchers/watcher.json\n"};
  return words;
}

int mute_command(const Arguments& arguments) { return run_word(mute_words(), arguments); }

}  // namespace weft::cli
