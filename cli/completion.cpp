#include "cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::cli {
namespace {

constexpr std::string_view kBashHead = R"(# bash completion for weft: made by `weft completion bash`.

_weft() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev= command= option= values= word i
  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word != -* && " $(_weft_words "$command") " == *" $word "* ]] || break
    command="${command:+$command }$word"
  done
  # bash parts --load=full into three words.
  if [[ $cur == '=' ]]; then
    option=$prev cur=
  elif [[ $prev == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $prev == -* ]]; then
    option=$prev
  fi
  [[ $option ]] && values=$(_weft_values "$command $option")
  COMPREPLY=()
  case $values in
    @any) return ;;
    @file) ;;
    ?*) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur"); return ;;
    *)
      word=$(_weft_words "$command")
      [[ $cur == -* ]] && word=$(_weft_options "$command")
      if [[ $word ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
        return
      fi
      ;;
  esac
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
)";

/// A table of a shell: the text for each key.
class ShellCase {
 public:
  explicit ShellCase(std::string_view name) : text_(fmt::format("\n{}() {{\n  case $1 in\n", name)) {}
  void add(const std::string& key, const std::string& words) {
    text_ += fmt::format("    '{}') echo '{}' ;;\n", key, words);
  }
  std::string done() const { return text_ + "  esac\n}\n"; }

 private:
  std::string text_;
};

std::string words_under(std::span<const CommandPage> all, const std::string& command) {
  std::string words;
  for (const CommandPage& page : all) {
    const bool below =
        command.empty() ? page.words.size() == 1 : page.words.size() == 2 && page.words[0] == command;
    if (below) words += (words.empty() ? "" : " ") + page.words.back();
  }
  return words;
}

std::string values_of(const OptionText& option) {
  const auto words = allowed_words(option);
  if (!words.empty()) return fmt::format("{}", fmt::join(words, " "));
  return names_a_file(option) ? "@file" : "@any";
}

/// The first clause of a text, as zsh shows it beside an option.
std::string in_short(std::string_view text) {
  for (const std::string_view end : {" (", "; ", ": "}) text = text.substr(0, text.find(end));
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const OptionText& option) {
  const auto words = allowed_words(option);
  if (!words.empty()) return fmt::format(":value:({})", fmt::join(words, " "));
  return names_a_file(option) ? ":file:_files" : ":value: ";
}

std::string zsh_option(const OptionText& option) {
  const bool has_value = !option.argument.empty();
  const std::string more = option.repeats ? "*" : "";
  const std::string value = has_value ? (option.argument_open ? ":" : "") + zsh_value(option) : "";
  const char* joined = option.argument_open ? "=-" : has_value ? "=" : "";
  std::string out =
      fmt::format(" \\\n    '{}--{}{}[{}]{}'", more, option.name, joined, in_short(option.text), value);
  if (!option.letter.empty())
    out += fmt::format(" \\\n    '{}-{}{}[{}]{}'", more, option.letter, has_value ? "+" : "",
                       in_short(option.text), value);
  return out;
}

std::string zsh_list(std::span<const CommandPage> all, const std::string& command) {
  std::string out;
  for (const CommandPage& page : all) {
    const bool below =
        command.empty() ? page.words.size() == 1 : page.words.size() == 2 && page.words[0] == command;
    if (below) out += fmt::format(" \\\n    '{}:{}'", page.words.back(), in_short(page.summary));
  }
  return out;
}

}  // namespace

std::string bash_completion(std::span<const CommandPage> all) {
  ShellCase words("_weft_words");
  ShellCase options("_weft_options");
  ShellCase values("_weft_values");
  words.add("", words_under(all, ""));
  options.add("", "--help --version");
  for (const CommandPage& page : all) {
    if (page.group) words.add(page.title(), words_under(all, page.words[0]));
    std::string names = page.group ? "--help" : "";
    for (const OptionText& option : page.options) {
      names += (names.empty() ? "--" : " --") + option.name;
      if (option.argument.empty() || option.argument_open) continue;
      values.add(page.title() + " --" + option.name, values_of(option));
      if (!option.letter.empty()) values.add(page.title() + " -" + option.letter, values_of(option));
    }
    options.add(page.title(), names);
  }
  return std::string(kBashHead) + words.done() + options.done() + values.done() +
         "\ncomplete -F _weft weft\n";
}

std::string zsh_completion(std::span<const CommandPage> all) {
  std::string out =
      "#compdef weft\n# zsh completion for weft: made by `weft completion zsh`.\n\n"
      "_weft_words() {\n  local -a found\n  found=(\"$@\")\n  _describe word found\n}\n\n"
      "_weft_command() {\n  local command=$1\n  case $command in\n";
  for (const CommandPage& page : all) {
    if (page.group) continue;
    out += fmt::format("  '{}') _arguments -s", page.title());
    for (const OptionText& option : page.options) out += zsh_option(option);
    out += " \\\n    '*:file:_files' ;;\n";
  }
  out += "  esac\n}\n\n_weft() {\n  if ((CURRENT == 2)); then\n    _weft_words" + zsh_list(all, "") +
         "\n    return\n  fi\n  local command=$words[2]\n  case $command in\n";
  for (const CommandPage& page : all)
    if (page.group)
      out += fmt::format(
          "  {0})\n    if ((CURRENT == 3)); then\n      _weft_words{1}\n      return\n    fi\n"
          "    command=\"$command $words[3]\"\n    shift words\n    ((CURRENT--)) ;;\n",
          page.words[0], zsh_list(all, page.words[0]));
  return out +
         "  esac\n  shift words\n  ((CURRENT--))\n  _weft_command $command\n}\n\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  _weft \"$@\"\nelse\n  compdef _weft "
         "weft\nfi\n";
}

}  // namespace weft::cli
