#include "cli/watch_backup.hpp"

#include <array>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/watch_listener.hpp"
#include "collectors/store/watch_store.hpp"

namespace weft::cli {
namespace {

OptionParser backup_options() {
  OptionParser parser(
      "weft watch backup FILE --state DIR",
      "Copies what a watch keeps in the directory of its --state: incidents, offences and the "
      "history of channels, as they are at one moment. The watch may be running. To restore, stop "
      "it, put the copy in the place of DIR/watch.db without the files watch.db-wal and "
      "watch.db-shm, and start it: what happened since comes from the event stream of its bus.",
      "  weft watch backup watch-monday.db --state state\n");
  parser.options().add_options()("file", po::value<std::string>()->value_name("FILE"),
                                 "the copy to make; it must not be there")(
      "state", po::value<std::string>()->value_name("DIR"), "the directory of the watch");
  parser.positional("file", 1);
  parser.without_configuration();  // which of several watches is asked for each time
  return parser;
}

Result<void> back_up(const po::variables_map& values) {
  const auto file = text_option(values, "file");
  const auto state = text_option(values, "state");
  if (!file)
    return fail(ErrorKind::usage, "which file? as in: weft watch backup watch-monday.db --state DIR");
  if (!state) return fail(ErrorKind::usage, "--state DIR is missing: that of the watch");
  return store::back_up(std::filesystem::path(*state) / kWatchDatabase, *file);
}

int backup_command(const Arguments& arguments) {
  auto parser = backup_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto done = back_up(*values);
  if (!done) return report(done.error());
  fmt::print("{} holds what {} has\n", (*values)["file"].as<std::string>(),
             (std::filesystem::path((*values)["state"].as<std::string>()) / kWatchDatabase).string());
  return kExitHealthy;
}

constexpr std::array<Command, 1> kWords{{
    {"backup", "a copy of what a watch keeps, while it runs", backup_command, backup_options},
}};

}  // namespace

const WordGroup& watch_words() {
  static const WordGroup words{"watch", "probe continuously, and report incidents as they begin and end",
                               kWords, "  weft watch backup watch-monday.db --state state\n"};
  return words;
}

}  // namespace weft::cli
