// What is installed: examples of the help pages that cannot be pasted, options that a manual page or a
// completion does not have, and the size of the Debian package.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "tests/bench/first_hour/pieces.hpp"
#include "tests/places.hpp"
#include "tests/support/pasted_examples.hpp"
#include "topology/os/run_program.hpp"

namespace weft::bench {
namespace {

double paste_failures() {
  double failures = 0;
  auto pasted = PasteBoard().paste(examples_on_their_own());
  if (geteuid() == 0) std::ranges::move(paste_in_labs(), std::back_inserter(pasted));
  for (const Pasted& one : pasted)
    if (one.failed()) {
      failures += 1;
      fmt::print("  not to be pasted ({}): {}\n", one.status, one.example.line);
    }
  fmt::print("  {} examples{}\n", pasted.size(), geteuid() == 0 ? "" : ", without those of labs: not root");
  return failures;
}

/// The share of options that both a manual page and the two completions have.
double documented_share() {
  const auto pages = cli::command_pages();
  const std::string bash = cli::bash_completion(pages);
  const std::string zsh = cli::zsh_completion(pages);
  int all = 0;
  int held = 0;
  for (const cli::CommandPage& page : pages) {
    std::string manual = cli::manual_page(page, pages, {"0", "2026-01-31"});
    std::erase(manual, '\\');
    for (const cli::OptionText& option : page.options) {
      const std::string name = "--" + option.name;
      const auto in = [&](const std::string& text) { return text.find(name) != std::string::npos; };
      all += 1;
      held += in(manual) && in(bash) && in(zsh) ? 1 : 0;
    }
  }
  return all == 0 ? 0 : static_cast<double>(held) / all;
}

}  // namespace

std::optional<std::filesystem::path> debian_package() {
  const std::filesystem::path build = WEFT_BINARY_DIR;
  const auto made = os::run_program({"sh", "-ec", fmt::format("cd '{}'; cpack -G DEB", build.string())}, "",
                                    std::chrono::minutes(5));
  if (!made) fmt::print("  no package: {}\n", made.error().message);
  if (!made) return std::nullopt;
  for (const auto& entry : std::filesystem::directory_iterator(build / "package/made"))
    if (const auto name = entry.path().filename().string();
        name.starts_with("weft_") && name.ends_with(".deb"))
      return entry.path();
  return std::nullopt;
}

void packages(Figures& figures) {
  figures.add("paste_failures", paste_failures(), "0");
  figures.add("man_completion_share", documented_share(), "1.00");
  if (const auto package = debian_package())
    figures.add("package_mb", static_cast<double>(file_size(*package)) / 1e6, "at most 10");
}

}  // namespace weft::bench
