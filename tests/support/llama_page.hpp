// The table of Llama 3 in docs/plan.md, and the commands above it that make it: a row each, in their order.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/plan.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"

namespace weft {

struct LlamaPage {
  std::string fabric;                    // its file
  std::vector<cli::Arguments> commands;  // behind the name of that file
  std::vector<std::string> rows;         // as the page has them
  std::string begin;                     // of the answer to the first command
};

/// What stands in a text between two others.
inline std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const auto begin = text.find(from);
  const auto end = begin == std::string::npos ? begin : text.find(to, begin + from.size());
  return end == std::string::npos ? "" : text.substr(begin + from.size(), end - begin - from.size());
}

inline LlamaPage llama_page() {
  const auto page = text_of(WEFT_SOURCE_DIR "/docs/plan.md");
  const auto part = page.substr(page.find("## Llama 3"));
  LlamaPage made{.fabric = between(part, "<<'END'\n", "END\n"),
                 .commands = {},
                 .rows = {},
                 .begin = between(part, "The first of them begins so:\n\n```\n", "```")};
  std::istringstream commands(between(part, "\nEND\n", "```")), rows(between(part, "|---|", "\n\n"));
  for (std::string line; std::getline(commands, line);) {
    std::istringstream words(line);
    cli::Arguments arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    if (arguments.size() > 3) made.commands.emplace_back(arguments.begin() + 3, arguments.end());
  }
  for (std::string line; std::getline(rows, line);)
    if (line.starts_with("| ")) made.rows.push_back(line);
  return made;
}

/// The row of the page that this command makes. Empty: it failed.
inline std::string llama_row(const LlamaPage& page, const cli::Arguments& command) {
  const ScratchFile fabric(page.fabric);
  cli::Arguments words{fabric.path(), "-o", "json"};
  words.insert(words.end(), command.begin(), command.end());
  const auto answer = call(cli::plan_command, words);
  const auto plan = nlohmann::json::parse(answer.out, nullptr, false);
  if (answer.status != 0 || plan.is_discarded()) return answer.err;
  const auto grouped = [](double number) {
    auto text = fmt::format("{:.0f}", number);
    return text.size() > 3 ? text.substr(0, text.size() - 3) + "," + text.substr(text.size() - 3) : text;
  };
  const auto grouped_gpus = grouped(plan["job"]["gpus"].get<double>());
  const auto percent = [](const nlohmann::json& share) {
    return fmt::format("{:.1f}", share.get<double>() * 100);
  };
  const auto &count = plan["interruptions"], &share = plan["effective"], &steps = plan["spares"];
  const double cost = plan["job"]["checkpoint_cost_s"],
               down = plan["job"]["detect_s"].get<double>() + plan["job"]["restart_s"].get<double>();
  return fmt::format("| {} | {:g} s, {:g} min | {} ({} to {}) | {} % ({} to {}) | {} % | {}, {} | {}, {} |",
                     grouped_gpus, cost, down / 60, grouped(count["mean"]), grouped(count["low"]),
                     grouped(count["high"]), percent(share["mean"]), percent(share["low"]),
                     percent(share["high"]), percent(plan["closed_form"]["effective"]),
                     steps[1]["spares"].get<int>(), steps[2]["spares"].get<int>(),
                     steps[1]["independent"].get<int>(), steps[2]["independent"].get<int>());
}

}  // namespace weft
