// The program weft-gate: `weft gate` by itself, with the same options. It runs before each job on each host,
// so it is linked with nothing that it does not need: weft takes longer to load its libraries than to answer.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <string_view>

#include "cli/exit_status.hpp"
#include "cli/gate_answer.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

constexpr const char* kHelp =
    "usage: weft-gate [--host HOST] [--file FILE] [--max-age TIME] [--refuse failed|degraded]\n"
    "Says whether a job should start on this host, as weft gate does (weft gate --help).\n";

Result<void> set_option(std::string_view name, const std::string& value, GateQuestion& question) {
  if (name == "--file") {
    question.file = value;
  } else if (name == "--host") {
    question.host = value;
  } else if (name == "--max-age") {
    WEFT_TRY(const auto age, files::parse_span(value));
    question.longest = std::chrono::ceil<std::chrono::seconds>(age);
  } else if (name == "--refuse") {
    WEFT_TRY(question.refuse, parse_refusal(value));
  } else {
    return fail(ErrorKind::usage, "unknown option '{}'\ntry: weft-gate --help", name);
  }
  return {};
}

/// `--name value` or `--name=value`.
Result<GateQuestion> question_of(int count, char** words) {
  GateQuestion question{.file = kUsualGateFile, .host = this_host()};
  WEFT_TRY_VOID(set_option("--max-age", kUsualGateAge, question));
  std::set<std::string_view> given;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto sign = word.find('=');
    if (sign == std::string_view::npos && i + 1 == count)
      return fail(ErrorKind::usage, "'{}': a value is missing, or it is no option\ntry: weft-gate --help",
                  word);
    const std::string value =
        sign == std::string_view::npos ? words[++i] : std::string(word.substr(sign + 1));
    const auto name = word.substr(0, sign);
    if (!given.insert(name).second) return fail(ErrorKind::usage, "option '{}' stands twice", name);
    WEFT_TRY_VOID(set_option(name, value, question));
  }
  return question;
}

int run(int count, char** words) {
  if (count == 2 && (std::string_view(words[1]) == "--help" || std::string_view(words[1]) == "-h"))
    return std::fputs(kHelp, stdout) < 0 ? kExitAbsent : kExitHealthy;
  const auto question = question_of(count, words);
  if (!question) return report(question.error());
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto said = answer_of(*question, now);
  if (std::puts(said.line.c_str()) < 0 || std::fflush(stdout) != 0) return kExitAbsent;
  return said.status;
}

}  // namespace
}  // namespace weft::cli

int main(int count, char** words) { return weft::cli::run(count, words); }
