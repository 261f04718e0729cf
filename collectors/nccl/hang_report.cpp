#include "collectors/nccl/hang_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "topology/base/text.hpp"
#include "topology/files/json_text.hpp"

namespace weft::nccl {
namespace {

constexpr std::size_t kIndent = 2;

void put_list(std::string& out, const char* title, const std::vector<std::string>& lines,
              std::size_t columns) {
  if (lines.empty()) return;
  out += fmt::format("{}\n", title);
  for (const std::string& line : lines) out += wrapped(line, kIndent, columns, kIndent);
}

std::string seconds_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.3g} min", seconds / 60);
}

std::string link_text(const SuspectLink& link) {
  return fmt::format("{}{}, confidence {:.2f}", link.link, link.from.empty() ? "" : ", sent by " + link.from,
                     link.confidence);
}

std::string together(const std::vector<std::string>& names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

}  // namespace

std::string hang_text(const HangVerdict& verdict, std::size_t columns) {
  std::string out = wrapped(verdict.sentence, 0, columns, kIndent);
  if (verdict.collective) {
    const auto& at = *verdict.collective;
    out += wrapped(fmt::format("collective: {} of group {}{}: {}", at.number, at.group,
                               at.description.empty() ? "" : " (" + at.description + ")", at.operation),
                   0, columns, kIndent);
  }
  std::vector<std::string> links;
  for (const SuspectLink& link : verdict.links) links.push_back(link_text(link));
  for (const auto& set : verdict.alternatives) links.push_back(together(set));
  put_list(out, "links:", links, columns);
  put_list(out, "evidence:", verdict.evidence, columns);
  if (!verdict.victims.empty())
    out +=
        wrapped(fmt::format("victims, which only wait: {}", rank_list(verdict.victims)), 0, columns, kIndent);
  std::vector<std::string> limits;
  for (const TimeLimit& limit : verdict.limits)
    limits.push_back(fmt::format("{}{}: after {} ({})", limits.empty() ? "first " : "", limit.what,
                                 seconds_text(limit.seconds), limit.how));
  put_list(out, "what ends the wait:", limits, columns);
  put_list(out, "not known:", verdict.missing, columns);
  return out;
}

std::string hang_json(const HangVerdict& verdict, const files::DocumentStamp& stamp) {
  auto tree = files::stamped_tree("weft.hang/1", stamp);
  tree["verdict"] = to_string(verdict.verdict);
  tree["cause"] = to_string(verdict.cause);
  tree["sentence"] = verdict.sentence;
  tree["ranks"] = verdict.ranks;
  tree["victims"] = verdict.victims;
  if (verdict.collective)
    tree["collective"] = {{"group", verdict.collective->group},
                          {"description", verdict.collective->description},
                          {"number", verdict.collective->number},
                          {"operation", verdict.collective->operation}};
  tree["links"] = files::DocumentTree::array();
  for (const SuspectLink& link : verdict.links) {
    files::DocumentTree one{{"link", link.link}, {"confidence", link.confidence}};
    if (!link.from.empty()) one["from"] = link.from;
    tree["links"].push_back(std::move(one));
  }
  tree["alternatives"] = verdict.alternatives;
  tree["evidence"] = verdict.evidence;
  tree["limits"] = files::DocumentTree::array();
  for (const TimeLimit& limit : verdict.limits)
    tree["limits"].push_back({{"what", limit.what}, {"seconds", limit.seconds}, {"how", limit.how}});
  tree["missing"] = verdict.missing;
  return files::document_text(tree) + "\n";
}

}  // namespace weft::nccl
