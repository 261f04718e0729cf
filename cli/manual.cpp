#include "cli/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/configuration.hpp"

namespace weft::cli {
namespace {

/// As roff shows it: no character is a command, and a dash is the one that people copy.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string head(const std::string& name, std::string_view summary, const ManualStamp& stamp) {
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 {} \"weft {}\" \"weft manual\"\n.SH NAME\n{} \\- {}\n", escaped(title),
                     stamp.date, stamp.version, escaped(name), escaped(summary));
}

/// Each line of the usage is a form of its own; a long one is broken at blanks, and nowhere else.
std::string synopsis(std::string_view usage) {
  std::string out = ".SH SYNOPSIS\n.nh\n.na\n";
  while (!usage.empty()) {
    const auto line = usage.substr(0, usage.find('\n'));
    usage.remove_prefix(std::min(line.size() + 1, usage.size()));
    out += escaped(line.substr(std::min(line.find_first_not_of(' '), line.size()))) + "\n";
    if (!usage.empty()) out += ".br\n";
  }
  return out + ".hy\n.ad\n";
}

std::string example_lines(std::string_view examples) {
  return ".SH EXAMPLES\n.nf\n" + escaped(examples) + ".fi\n";
}

std::string entry(const OptionText& option) {
  std::string out = ".TP\n";
  if (!option.letter.empty()) out += fmt::format("\\fB\\-{}\\fR, ", option.letter);
  out += fmt::format("\\fB\\-\\-{}\\fR", escaped(option.name));
  if (!option.argument.empty()) {
    const auto value = fmt::format("\\fI{}\\fR", escaped(option.argument));
    out += option.argument_open ? "[=" + value + "]" : "=" + value;
  }
  out += "\n" + escaped(option.text) + "\n";
  if (option.usual && !option.usual->empty()) out += fmt::format("(default: {})\n", escaped(*option.usual));
  return out;
}

std::string options_of(const CommandPage& page) {
  std::string out = ".SH OPTIONS\n";
  std::optional<Group> group;
  for (const OptionText& option : page.options) {
    if (group != option.group) {
      std::string title(caption(option.group));
      title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
      out += fmt::format(".SS {}\n", title);
    }
    group = option.group;
    out += entry(option);
  }
  return out;
}

std::string exit_statuses() {
  return ".SH EXIT STATUS\n"
         "0 healthy, 1 degraded or congested, 2 failed, 3 unknown; 64 usage, 69 something is absent, 70\n"
         "internal, 130 interrupted.\n";
}

std::string see_also(const std::vector<std::string>& names) {
  std::string out = ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", escaped(names[i]), i + 1 < names.size() ? "," : "");
  return out;
}

/// The words of a command; their pages join `others`. Empty: it has none.
std::string words_of(const CommandPage& page, std::span<const CommandPage> all,
                     std::vector<std::string>& others) {
  std::string out;
  for (const CommandPage& word : all)
    if (word.words.size() > 1 && word.words[0] == page.words[0]) {
      out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(word.words[1]), escaped(word.summary));
      others.push_back(manual_name(word));
    }
  return out.empty() ? out : ".SH WORDS\n" + out;
}

}  // namespace

std::string manual_name(const CommandPage& page) {
  return fmt::format("weft-{}", fmt::join(page.words, "-"));
}

std::string manual_page(const CommandPage& page, std::span<const CommandPage> all, const ManualStamp& stamp) {
  std::string out = head(manual_name(page), page.summary, stamp) + synopsis(page.usage) +
                    ".SH DESCRIPTION\n" + escaped(page.about) + "\n";
  std::vector<std::string> others{"weft"};
  if (!page.group) out += options_of(page);
  if (page.words.size() == 1) out += words_of(page, all, others);
  out += exit_statuses();
  if (page.takes_configuration)
    out += fmt::format(
        ".SH ENVIRONMENT\nEach option may stand in a variable: \\fB{}\\fR for \\fB\\-\\-option\\fR; see\n"
        ".BR weft\\-config (1).\n",
        variable_of(page.key() + ".option"));
  return out + example_lines(page.examples) + see_also(others);
}

std::string manual_overview(std::span<const CommandPage> all, const ManualStamp& stamp) {
  std::string out =
      head("weft", "test, explain and balance the fabrics under GPU training jobs", stamp) +
      synopsis("weft COMMAND [OPTIONS]\nweft COMMAND --help\nweft --version") +
      ".SH DESCRIPTION\n"
      "weft tests, explains and balances the fabrics under GPU training jobs, RoCE and InfiniBand\n"
      "alike.\n.SH COMMANDS\n";
  std::vector<std::string> names;
  for (const CommandPage& page : all)
    if (page.words.size() == 1) {
      out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(page.words[0]), escaped(page.summary));
      names.push_back(manual_name(page));
    }
  out += exit_statuses();
  out +=
      ".SH FILES\n.TP\n.I /etc/weft/weft.yaml\noptions of this host\n.TP\n.I ~/.config/weft/weft.yaml\n"
      "options of this user, which go before those of the host (XDG_CONFIG_HOME stands for ~/.config)\n"
      ".SH ENVIRONMENT\n.TP\n.B WEFT_OPTION, WEFT_COMMAND_OPTION\n"
      "an option of all commands that have it, and of one; they go before the files\n"
      ".TP\n.B WEFT_CONFIG, WEFT_NO_CONFIG\nas \\-\\-config and \\-\\-no\\-config\n"
      ".TP\n.B WEFT_BUS_TOKEN\nthe credential of the server that \\-\\-server names\n";
  return out + see_also(names);
}

}  // namespace weft::cli
