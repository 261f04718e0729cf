#include "probes/run/launch_template.hpp"

#include <algorithm>
#include <filesystem>

namespace weft::run {
namespace {

constexpr std::string_view kHost = "{host}";
// Nobody answers a question for a password or an unknown key; a host that is off is given up in time; of what
// a login prints only errors are kept. `--` : a host's name is never taken for an option.
constexpr std::string_view kSsh =
    "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ForwardX11=no -o ForwardAgent=no -o LogLevel=ERROR -- "
    "{host}";
// One step a host, so that a host that fails ends its own step only; beside the steps of a job that runs.
constexpr std::string_view kSrun =
    "srun --nodelist={host} --nodes=1 --ntasks=1 --overlap --job-name=weft --quiet";

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote == 0 ? c : '\0';
      if (!in_word) words.emplace_back();
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
    } else {
      if (!in_word) words.emplace_back();
      in_word = true;
      words.back() += c;
    }
  }
  if (quote != 0) return fail(ErrorKind::usage, "--launcher {}: a quotation mark is not closed", text);
  return words;
}

std::string with_host(std::string word, const std::string& host) {
  for (auto at = word.find(kHost); at != std::string::npos; at = word.find(kHost, at + host.size()))
    word.replace(at, kHost.size(), host);
  return word;
}

/// As one word of a POSIX shell.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

Result<LaunchTemplate> LaunchTemplate::parse(std::string_view text) {
  WEFT_TRY(auto words, split_words(text == "ssh" ? kSsh : text == "srun" ? kSrun : text));
  if (std::ranges::none_of(words, [](const auto& word) { return word.find(kHost) != std::string::npos; }))
    return fail(ErrorKind::usage,
                "--launcher '{}': expected ssh, srun, or a command with {{host}} in it, as in 'ssh -p 2222 "
                "{{host}}'",
                text);
  const bool shell = std::filesystem::path(words.front()).filename() == "ssh";
  return LaunchTemplate(std::string(text), std::move(words), shell);
}

std::vector<std::string> LaunchTemplate::command(const std::string& host,
                                                 const std::vector<std::string>& program) const {
  std::vector<std::string> all;
  for (const std::string& word : words_) all.push_back(with_host(word, host));
  for (const std::string& word : program) all.push_back(passes_a_shell_ ? quoted(word) : word);
  return all;
}

}  // namespace weft::run
