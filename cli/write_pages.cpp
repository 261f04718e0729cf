// `weft completion SHELL`, and what a package is made of: `weft write-pages FOLDER DATE` (hidden; the build
// calls it) writes the manual pages and the completions under FOLDER, as they lie under share/.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/exit_status.hpp"
#include "cli/manual.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

Result<void> write_pages(const std::filesystem::path& folder, const std::string& date) {
  const auto pages = command_pages();
  const ManualStamp stamp{std::string(tool_version()), date};
  const auto manuals = folder / "man/man1";
  const auto bash = folder / "bash-completion/completions";
  const auto zsh = folder / "zsh/vendor-completions";
  for (const auto& place : {manuals, bash, zsh}) {
    std::error_code error;
    std::filesystem::create_directories(place, error);
    if (error) return fail(ErrorKind::absent, "cannot make {}: {}", place.string(), error.message());
  }
  WEFT_TRY_VOID(files::write_text_file(manuals / "weft.1", manual_overview(pages, stamp)));
  for (const CommandPage& page : pages)
    WEFT_TRY_VOID(
        files::write_text_file(manuals / (manual_name(page) + ".1"), manual_page(page, pages, stamp)));
  WEFT_TRY_VOID(files::write_text_file(bash / "weft", bash_completion(pages)));
  return files::write_text_file(zsh / "_weft", zsh_completion(pages));
}

}  // namespace

OptionParser completion_options() {
  OptionParser parser("weft completion bash|zsh",
                      "Prints what a shell needs to complete weft's command lines.",
                      "  source <(weft completion bash)\n"
                      "  weft completion zsh > _weft   # into a folder of $fpath\n");
  parser.options().add_options()("shell", po::value<std::string>()->value_name("bash|zsh"),
                                 "for which shell");
  parser.positional("shell", 1);
  parser.command_line_only({"shell"});
  return parser;
}

int completion_command(const Arguments& arguments) {
  const auto parser = completion_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto shell = text_option(*values, "shell").value_or("");
  if (shell != "bash" && shell != "zsh")
    return report({ErrorKind::usage, fmt::format("completion '{}': expected bash or zsh", shell)});
  fmt::print("{}", shell == "bash" ? bash_completion(command_pages()) : zsh_completion(command_pages()));
  return kExitHealthy;
}

int write_pages_command(const Arguments& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--help") {
    fmt::print("usage: weft write-pages FOLDER DATE\n\nexamples:\n  weft write-pages share 2026-01-31\n");
    return kExitHealthy;
  }
  if (arguments.size() != 2)
    return report({ErrorKind::usage, "write-pages: expected FOLDER DATE, as in share 2026-01-31"});
  const auto written = write_pages(arguments[0], arguments[1]);
  return written ? kExitHealthy : report(written.error());
}

}  // namespace weft::cli
