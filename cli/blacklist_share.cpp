// `weft blacklist share | unshare`: whether a ledger is one that machines share over the bus of their
// watchers.
#include <filesystem>

#include "cli/blacklist.hpp"
#include "cli/exit_status.hpp"
#include "cli/ledger_options.hpp"
#include "cli/terminal.hpp"

namespace weft::cli {
namespace {

Result<void> share(const po::variables_map& values) {
  WEFT_TRY_VOID(need_text(values, "credential", "the bus over which it is shared").map([](auto&&) {}));
  WEFT_TRY(auto opened, open_ledger(values, store::Database::Access::write));
  WEFT_TRY_VOID(opened.bus->ledger().share(now_of_machine().wall));
  print_stderr(
      "weft: {}: shared: other machines follow it with --credential and a file that is not there yet\n",
      opened.store->path().string());
  return {};
}

Result<void> unshare(const po::variables_map& values) {
  if (values.count("credential"))
    return fail(ErrorKind::usage, "--credential: the bus is not asked, and keeps what it has");
  WEFT_TRY(const auto file, need_text(values, "ledger", "the file that is a copy"));
  if (!std::filesystem::exists(file)) return fail(ErrorKind::not_found, "{}: there is no such ledger", file);
  WEFT_TRY(auto opened, open_ledger(values, store::Database::Access::write));
  WEFT_TRY(const auto place, opened.store->shared());
  if (!place)
    return fail(ErrorKind::conflict, "{}: it is this machine's own already, no copy of a shared blacklist",
                file);
  WEFT_TRY_VOID(opened.store->set_shared(std::nullopt));
  print_stderr("weft: {}: this machine's own from now on\n", file);
  return {};
}

OptionParser options_of(const char* word, const char* summary, const char* example) {
  OptionParser parser(fmt::format("weft blacklist {} --ledger FILE --fabric FILE", word), summary, example);
  add_ledger_options(parser);
  return parser;
}

}  // namespace

OptionParser blacklist_share_options() {
  return options_of("share --credential FILE",
                    "Makes the blacklist of this machine the one that machines share over the bus of their "
                    "watchers. Once:\nthe others follow it.",
                    "  weft blacklist share --credential bus/watchers/watcher.json --ledger gpus.db --fabric "
                    "cluster.yaml\n");
}
OptionParser blacklist_unshare_options() {
  return options_of("unshare",
                    "Makes a copy of a shared blacklist this machine's own, as it stands: where the bus is "
                    "gone for good, or has\nlost it. What the bus has stays there.",
                    "  weft blacklist unshare --ledger bl.db --fabric fabric.yaml\n");
}
int blacklist_share_command(const Arguments& a) { return run_command(blacklist_share_options(), a, share); }
int blacklist_unshare_command(const Arguments& a) {
  return run_command(blacklist_unshare_options(), a, unshare);
}

}  // namespace weft::cli
