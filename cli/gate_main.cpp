// The program weft-gate: `weft gate` by itself, with the same options. It runs before each job on each host,
// so it is linked with nothing that it does not need: weft takes longer to load its libraries than to answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/gate_answer.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

constexpr const char* kHelp =
    "usage: weft-gate [--host HOST] [--file FILE] [--max-age TIME] [--refuse failed|degraded]\n"
    "Says whether a job should start on this host, as weft gate does (weft gate --help).\n";

constexpr std::array<std::string_view, 5> kNames{"file", "help", "host", "max-age", "refuse"};

/// As weft takes them: by the whole name, or by a beginning that no other has.
Result<std::string_view> name_of(std::string_view given, std::string_view word) {
  std::vector<std::string_view> fit;
  for (const std::string_view name : kNames) {
    if (name == given) return name;
    if (name.starts_with(given)) fit.push_back(name);
  }
  if (fit.size() == 1) return fit.front();
  return fail(ErrorKind::usage, "{} '{}'\ntry: weft-gate --help",
              fit.empty() ? "unknown option or word" : "more than one option begins with", word);
}

using Words = std::map<std::string_view, std::string>;  // by the option's name; of help empty

/// `--name value`, `--name=value`, `-h`; behind `--` nothing may stand.
Result<Words> read_words(int count, char** words) {
  Words read;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--" && i + 1 == count) break;
    const auto sign = std::min(word.find('='), word.size());
    std::string_view name = "help";
    if (word != "-h") {
      if (!word.starts_with("--") || sign == 2)
        return fail(ErrorKind::usage, "unknown option or word '{}'\ntry: weft-gate --help", word);
      WEFT_TRY(name, name_of(word.substr(2, sign - 2), word));
    }
    const bool has_value = sign < word.size(), takes_one = name != "help";
    const bool is_missing = takes_one ? has_value ? sign + 1 == word.size() : i + 1 == count : has_value;
    if (is_missing)
      return fail(ErrorKind::usage, "'{}': {}\ntry: weft-gate --help", word,
                  takes_one ? "a value is missing" : "it takes no value");
    if (read.contains(name)) return fail(ErrorKind::usage, "option '--{}' stands twice", name);
    read[name] = !takes_one ? "" : has_value ? std::string(word.substr(sign + 1)) : words[++i];
  }
  return read;
}

Result<GateQuestion> question_of(const Words& words) {
  const auto word_or = [&](std::string_view name, const std::string& otherwise) {
    const auto at = words.find(name);
    return at != words.end() ? at->second : otherwise;
  };
  GateQuestion question{.file = word_or("file", kUsualGateFile), .host = word_or("host", this_host())};
  WEFT_TRY(const auto age, files::parse_span(word_or("max-age", kUsualGateAge)));
  question.longest = std::chrono::ceil<std::chrono::seconds>(age);
  if (words.contains("refuse")) {
    WEFT_TRY(question.refuse, parse_refusal(words.at("refuse")));
  }
  return question;
}

int run(int count, char** words) {
  const auto read = read_words(count, words);
  if (!read) return report(read.error());
  if (read->contains("help")) return std::fputs(kHelp, stdout) < 0 ? kExitAbsent : kExitHealthy;
  const auto question = question_of(*read);
  if (!question) return report(question.error());
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto said = answer_of(*question, now);
  if (std::puts(said.line.c_str()) < 0 || std::fflush(stdout) != 0) return kExitAbsent;
  return said.status;
}

}  // namespace
}  // namespace weft::cli

int main(int count, char** words) { return weft::cli::run(count, words); }
