// Manual pages and completion: every option of every command is in them, and man, bash and zsh read them.
#include "cli/pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/blacklist.hpp"
#include "cli/completion.hpp"
#include "cli/help_text.hpp"
#include "cli/manual.hpp"
#include "cli/words.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

const ManualStamp kStamp{"0.0.0", "2026-01-31"};

/// All that it says, by way of a shell: programs that complain do so on stderr.
std::string out_of(const std::vector<std::string>& words) {
  std::vector<std::string> shell{"sh", "-c", "\"$@\" 2>&1 || true", "sh"};
  shell.insert(shell.end(), words.begin(), words.end());
  return os::run_program(shell, "", std::chrono::seconds(30)).value_or("did not run");
}

bool is_there(const char* program) {
  return out_of({"sh", "-c", fmt::format("command -v {}", program)}) != "";
}

std::string in_roff(const std::string& name) {
  std::string text = "\\fB\\-\\-";
  for (const char c : name) text += c == '-' ? "\\-" : std::string(1, c);
  return text + "\\fR";
}

TEST(Pages, EveryCommandInAListTellsItsOptionsOrItsWords) {
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    EXPECT_TRUE(command.options || command.words) << command.name << ": name its options in commands.cpp";
    if (!command.words) continue;
    for (const Command& word : command.words().words)
      EXPECT_TRUE(word.hidden || word.options) << command.name << " " << word.name << ": name its options";
  }
}

TEST(Pages, OfHelpAreGroupedAndFitATerminal) {
  const auto help = call(sweep_command, {"--help"}).out;
  std::size_t at = 0;
  for (const char* group : {"what", "how much", "how", "RDMA", "InfiniBand", "cluster", "output"}) {
    const auto found = help.find(fmt::format("\n{}:\n", group));
    ASSERT_NE(found, std::string::npos) << group;
    EXPECT_GT(found, at) << group;
    at = found;
  }
  for (const Command& command : commands())
    for (const Command& word : command.words ? command.words().words : std::span(&command, 1)) {
      if (!word.options) continue;
      std::istringstream lines(word.options().help_page());
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kHelpColumns) << line;
    }
}

TEST(Pages, DoNotNameWhatIsNotSupported) {
  EXPECT_THAT(call(blacklist_export_command, {"--help"}).out, testing::Not(HasSubstr("--apply")));
  EXPECT_THAT(call(blacklist_export_command, {"--to", "jsonl", "--apply"}).err,
              HasSubstr("nothing to apply"));
}

TEST(Pages, OptionsAreValues) {
  const auto pages = command_pages();
  const auto sweep = std::ranges::find(pages, "sweep", &CommandPage::title);
  ASSERT_NE(sweep, pages.end());
  const auto of = [&](const char* name) {
    return *std::ranges::find(sweep->options, name, &OptionText::name);
  };
  EXPECT_EQ(of("load").group, Group::how_much);
  EXPECT_THAT(allowed_words(of("load")), testing::ElementsAre("none", "light", "full"));
  EXPECT_THAT(allowed_words(of("launcher")), testing::ElementsAre("ssh", "srun"));
  EXPECT_THAT(allowed_words(of("budget")), testing::IsEmpty());
  EXPECT_EQ(of("lab").argument, "NAME");
  EXPECT_TRUE(of("lab").argument_open);
  EXPECT_EQ(of("output").letter, "o");
  EXPECT_EQ(of("output").usual, "table");
  EXPECT_EQ(of("all").argument, "");
  EXPECT_TRUE(names_a_file(of("save")));
}

TEST(Pages, TheWordsThatAValueMayBeAreThoseThatTheCommandTakes) {
  const ScratchFile fabric("fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n");
  const auto pages = command_pages();
  const auto simulate = std::ranges::find(pages, "simulate", &CommandPage::title);
  for (const OptionText& option : simulate->options)
    for (const std::string& word : allowed_words(option)) {
      const auto outcome =
          call(simulate_command, {fabric.path(), "--load=full", "--" + option.name + "=" + word});
      EXPECT_THAT(outcome.err, testing::Not(HasSubstr("expected"))) << option.name << " " << word;
    }
}

TEST(ManualPages, HoldEveryOptionAndAreCleanToMan) {
  const auto pages = command_pages();
  const bool mandoc = is_there("mandoc");
  for (const CommandPage& page : pages) {
    const std::string text = manual_page(page, pages, kStamp);
    for (const OptionText& option : page.options)
      EXPECT_THAT(text, HasSubstr(in_roff(option.name))) << page.title();
    const ScratchFile file(text);
    if (mandoc) {
      EXPECT_EQ(out_of({"mandoc", "-Tlint", "-Wwarning", file.path()}), "") << page.title();
      const ScratchFile head(text.substr(0, text.find(".SH DESCRIPTION")));
      std::istringstream lines(out_of({"mandoc", "-Tascii", head.path()}));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kHelpColumns) << line;
    }
  }
  const ScratchFile overview(manual_overview(pages, kStamp));
  if (!mandoc) GTEST_SKIP() << "no mandoc";
  EXPECT_EQ(out_of({"mandoc", "-Tlint", "-Wwarning", overview.path()}), "");
}

/// What bash offers for a line, by the completion that is printed.
std::string offered(const std::vector<std::string>& line) {
  const ScratchFile script(bash_completion(command_pages()) +
                           "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _weft\necho \"${COMPREPLY[*]}\"\n");
  std::vector<std::string> words{"bash", script.path()};
  words.insert(words.end(), line.begin(), line.end());
  std::string out = out_of(words);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

TEST(Completion, OfBashKnowsCommandsOptionsAndValues) {
  EXPECT_EQ(offered({"weft", "sw"}), "sweep");
  EXPECT_EQ(offered({"weft", "lab", "st"}), "status");
  EXPECT_EQ(offered({"weft", "sweep", "--lo"}), "--load --load-time");
  EXPECT_EQ(offered({"weft", "sweep", "--load", ""}), "none light full");
  EXPECT_EQ(offered({"weft", "sweep", "--load", "=", "l"}), "light");
  EXPECT_EQ(offered({"weft", "topology", "show", "-o", "y"}), "yaml");
  EXPECT_EQ(offered({"weft", "sweep", "--budget", ""}), "");
  EXPECT_EQ(offered({"weft", "sweep", "--fabric", "/etc/hostn"}), "/etc/hostname");
  EXPECT_EQ(offered({"weft", "topology", "show", "/etc/hostn"}), "/etc/hostname");
}

TEST(Completion, HoldsEveryOption) {
  const auto pages = command_pages();
  const std::string bash = bash_completion(pages);
  const std::string zsh = zsh_completion(pages);
  for (const CommandPage& page : pages)
    for (const OptionText& option : page.options) {
      EXPECT_THAT(bash, testing::ContainsRegex("'" + page.title() + "'. echo '.*--" + option.name + "[ ']"));
      EXPECT_THAT(zsh, HasSubstr("--" + option.name)) << page.title();
    }
}

// A terminal of its own, in which a tabulator is typed.
constexpr const char* kZshSession = R"(
zmodload zsh/zpty
zpty w zsh -f -i
zpty -w w "autoload -Uz compinit; compinit -u -D; source $1; echo rea''dy"
zpty -r -m w out '*ready*'
offers() {
  zpty -w -n w "$1"$'\t'
  zpty -r -m w out "*$2*" || exit 1
  zpty -w -n w $'\x15'
}
offers 'weft sw' 'weft sweep'
offers 'weft sweep --loa' 'weft sweep --load'
offers 'weft sweep --load=' 'full*light*none'
offers 'weft lab st' 'weft lab status'
offers 'weft topology show -o ' 'json*table*yaml'
echo all
)";

TEST(Completion, OfZshKnowsCommandsOptionsAndValues) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  const ScratchFile completion(zsh_completion(command_pages()));
  const ScratchFile session(kZshSession);
  EXPECT_EQ(out_of({"timeout", "60", "zsh", "-f", session.path(), completion.path()}), "all\n");
}

}  // namespace
}  // namespace weft::cli
