#include "collectors/report/document_html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "collectors/report/document_charts.hpp"
#include "collectors/report/findings.hpp"
#include "collectors/report/json_html.hpp"
#include "collectors/report/table.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/xml_text.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_view.hpp"
#include "topology/model/ib_names.hpp"

namespace weft::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxMapped = 160;   // rows of the map of pairs: more are no longer told apart
constexpr double kMaxShown = 1e6;         // times a bound or a right
constexpr std::size_t kMaxEntries = 500;  // of findings; the document has all

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

double number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

/// What a flow got of what it wanted; hostile figures stay such as a chart can show.
double share_of(const json& flow, double wanted) {
  return std::clamp(number_of(flow, "delivered") / wanted, 0.0, kMaxShown);
}

/// All lines of the table before its first empty one.
std::string sentence_of(const files::DiagnosisDocument& document) {
  std::string text = diagnosis_table(document, {.columns = 10'000});
  text.resize(std::min(text.find("\n\n"), text.size()));
  std::ranges::replace(text, '\n', ';');
  while (text.ends_with(';')) text.pop_back();
  return text;
}

std::string findings_html(const files::DiagnosisDocument& document) {
  std::string html = "<h2>What is at fault</h2>\n";
  const auto entries = entries_of(document);
  for (const Entry& entry : entries | std::views::take(kMaxEntries)) {
    html += fmt::format(
        "<div class=\"finding {0}\"><b>{1}</b>: {2}{3}{4}{5}<ul>", to_string(entry.verdict),
        xml_escaped(entry.what), to_string(entry.verdict),
        entry.trouble.cause ? fmt::format(", {}", to_string(*entry.trouble.cause)) : "",
        entry.estimate.empty() ? "" : " " + xml_escaped(entry.estimate),
        entry.confidence.empty() ? "" : fmt::format(" (confidence {})", xml_escaped(entry.confidence)));
    if (!entry.ports.empty()) html += fmt::format("<li>ports: {}</li>", xml_escaped(entry.ports));
    for (const auto* lines : {&entry.lines, &entry.evidence})
      for (const std::string& line : *lines) html += fmt::format("<li>{}</li>", xml_escaped(line));
    html += fmt::format("</ul>To do: {}.</div>\n", xml_escaped(what_to_do(entry.trouble)));
  }
  if (entries.empty()) html += "<p>Nothing is known to be at fault.</p>\n";
  if (entries.size() > kMaxEntries)
    html += fmt::format("<p>And {} more: the document has them.</p>\n", entries.size() - kMaxEntries);
  return html;
}

/// The node at the far end of "host1->leaf1", at the near end of "leaf1->host1".
std::string leaf_of(const json& flow, bool of_sender) {
  const auto path = flow.find("path");
  if (path == flow.end() || !path->is_array() || path->empty()) return {};
  const json& channel = of_sender ? path->front() : path->back();
  if (!channel.is_string()) return {};
  const auto name = channel.get<std::string>();
  const auto arrow = name.find("->");
  if (arrow == std::string::npos) return {};
  auto node = of_sender ? name.substr(arrow + 2) : name.substr(0, arrow);
  node.resize(std::min(node.find('/'), node.size()));
  return node;
}

/// From the name of each NIC to that of its row.
std::map<std::string, std::string> rows_of(const json& flows) {
  std::map<std::string, std::string> leaves;
  for (const json& flow : flows)
    for (const bool sends : {true, false})
      if (auto& leaf = leaves[text_of(flow, sends ? "src" : "dst")]; leaf.empty())
        leaf = leaf_of(flow, sends);
  if (leaves.size() > kMaxMapped) {
    for (auto& [nic, leaf] : leaves)
      if (leaf.empty()) leaf = "others";
    return leaves;
  }
  for (auto& [nic, row] : leaves) row = nic;
  return leaves;
}

/// Neighbours together, until there are few enough.
std::vector<std::string> grouped(std::vector<std::string> names, std::map<std::string, std::size_t>& number) {
  std::ranges::sort(names, natural_less);
  const std::size_t each = (names.size() + kMaxMapped - 1) / kMaxMapped;
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < names.size(); ++i) {
    number[names[i]] = i / std::max<std::size_t>(each, 1);
    if (i % std::max<std::size_t>(each, 1) == 0)
      groups.push_back(each < 2
                           ? names[i]
                           : fmt::format("{} to {}", names[i], names[std::min(i + each, names.size()) - 1]));
  }
  return groups;
}

PairMap pairs_of(const json& flows) {
  const auto rows = rows_of(flows);
  std::vector<std::string> names;
  for (const auto& [nic, row] : rows) names.push_back(row);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::size_t> number;
  PairMap map{.names = grouped(std::move(names), number), .cells = {}};
  std::map<std::pair<std::size_t, std::size_t>, PairMap::Cell> cells;
  for (const json& flow : flows) {
    const double wanted = number_of(flow, "wanted");
    if (wanted <= 0) continue;
    const std::size_t row = number[rows.at(text_of(flow, "src"))];
    const std::size_t column = number[rows.at(text_of(flow, "dst"))];
    const double share = share_of(flow, wanted);
    auto& cell = cells.try_emplace({row, column}, PairMap::Cell{row, column, share, 0}).first->second;
    cell.share = std::min(cell.share, share);
    ++cell.flows;
  }
  for (const auto& [key, cell] : cells) map.cells.push_back(cell);
  return map;
}

std::string worst_pairs_html(const PairMap& map) {
  constexpr std::size_t kShown = 20;
  auto worst = map.cells;
  std::ranges::stable_sort(worst, {}, &PairMap::Cell::share);
  std::string html =
      "<details><summary>The slowest as a table</summary><table><tr><th>sends</th><th>receives</th>"
      "<th class=\"n\">of its right</th><th class=\"n\">flows</th></tr>\n";
  for (const PairMap::Cell& cell : worst | std::views::take(kShown))
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{}</td></tr>\n",
        xml_escaped(map.names[cell.row]), xml_escaped(map.names[cell.column]), cell.share * 100, cell.flows);
  return html + "</table></details>\n";
}

Result<void> add_diagnosis(DocumentParts& parts, std::string_view text, std::string_view name, json& root) {
  WEFT_TRY(const auto document, files::parse_diagnosis(text, name));
  parts.sentence = sentence_of(document);
  parts.findings = findings_html(document);
  if (const auto flows = root.find("flows");
      flows != root.end() && flows->is_object() && flows->contains("flows") && (*flows)["flows"].is_array()) {
    const json& all = (*flows)["flows"];
    parts.pairs = pairs_of(all);
    std::vector<double> shares;
    for (const json& flow : all)
      if (const double wanted = number_of(flow, "wanted"); wanted > 0)
        shares.push_back(share_of(flow, wanted));
    if (!shares.empty()) {
      parts.rest += "<h2>What flows got of what they had a right to</h2>\n<figure>" +
                    quantile_chart("share of flows that got no more", {{"flows", std::move(shares)}}) +
                    worst_pairs_html(parts.pairs) + "</figure>\n";
    }
    flows->erase("flows");
  }
  for (const char* told : {"links", "hosts", "sets", "groups"}) root.erase(told);
  return {};
}

/// How many times as long a byte takes on this channel as on one of the reference rate.
double slower(const json& root, const Fabric* fabric, std::string_view channel) {
  const auto reference = parse_bandwidth(text_of(root, "reference_rate"));
  if (!fabric || !reference) return 1;
  const auto at = fabric->find_channel(channel);
  return at && fabric->rate(*at) > Bandwidth() ? *reference / fabric->rate(*at) : 1;
}

std::string load_part(const CarriedLoads& loads) {
  return std::ranges::any_of(loads.by_channel, [](const auto& load) { return load.second > 0; })
             ? "<h2>Load of links</h2>\n<figure>" + load_chart(loads) + "</figure>\n"
             : "";
}

/// `load` on each channel of this path that lies between switches.
void put_on_path(CarriedLoads& loads, const json& path, double load) {
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i].is_string())
      loads.by_channel[path[i].get<std::string>()] += i > 0 && i + 1 < path.size() ? load : 0;
}

void add_assignment(DocumentParts& parts, json& root, const Fabric* fabric) {
  parts.sentence = fmt::format("{}: the busiest link carries {:.3f} times the bound", parts.fabric,
                               number_of(root, "ratio"));
  if (const auto left = root.find("unassigned"); left != root.end() && left->is_array() && !left->empty())
    parts.sentence += fmt::format("; {} flows are not assigned", left->size());
  parts.loads.yardstick = "the bound";
  const double bound = number_of(root, "bound");
  const auto assignments = root.find("assignments");
  if (bound <= 0 || assignments == root.end() || !assignments->is_array()) return;
  for (const json& each : *assignments) {
    const auto path = each.find("path");
    if (path != each.end() && path->is_array())
      put_on_path(parts.loads, *path, number_of(each, "bytes") / bound);
  }
  for (auto& [channel, load] : parts.loads.by_channel)
    load = std::clamp(load * slower(root, fabric, channel), 0.0, kMaxShown);
  parts.rest += load_part(parts.loads);
}

/// How queue pairs spread over the ways between two NICs. A way is one path, or several where a switch
/// sprays.
struct AuditedWays {
  explicit AuditedWays(const json& spread) {
    const auto at = spread.find("ways");
    if (at == spread.end() || !at->is_array()) return;
    for (const json& way : *at) {
      const auto paths = way.find("paths");
      if (!way.is_object() || paths == way.end() || !paths->is_array()) continue;
      const double count = std::clamp(number_of(way, "queue_pairs"), 0.0, kMaxShown);
      ++ways;
      used += count > 0;
      busiest = std::max(busiest, count);
      for (const json& path : *paths)
        if (path.is_array()) {
          put_on_path(carried, path, count / static_cast<double>(paths->size()));
          put_on_path(shared, path, 1.0 / static_cast<double>(paths->size()));
        }
    }
  }
  /// Queue pairs are whole: of 16 over three ways no way has more than an even share with six.
  CarriedLoads over_even(double each) const {
    CarriedLoads loads{"an even share", carried.by_channel};
    for (auto& [channel, load] : loads.by_channel) {
      const double even = std::ceil(each * shared.by_channel.at(channel) - 1e-9);
      load = even > 0 ? std::clamp(load / even, 0.0, kMaxShown) : 0;
    }
    return loads;
  }

  std::size_t ways = 0;
  std::size_t used = 0;
  double busiest = 0;
  CarriedLoads carried, shared;
};

void add_audit(DocumentParts& parts, const json& root) {
  const double count = std::clamp(number_of(root, "queue_pairs"), 0.0, kMaxShown);
  const AuditedWays before(root);
  const auto move = root.find("move");
  const bool is_moved = move != root.end() && move->is_object();
  const AuditedWays after(is_moved ? *move : root);
  parts.sentence = fmt::format("{} to {}: ", text_of(root, "src"), text_of(root, "dst"));
  if (count == 0) {
    parts.sentence += "no queue pair told which port it uses";
    return;
  }
  parts.sentence += fmt::format("{:.0f} queue pair{}", count, count == 1 ? "" : "s");
  if (is_moved)
    parts.sentence += fmt::format(", {:.0f} moved while they lived,",
                                  std::clamp(number_of(*move, "moved"), 0.0, kMaxShown));
  if (after.ways == 0) {
    parts.sentence += " on paths that are not known";
    return;
  }
  const double even = count / static_cast<double>(after.ways);
  parts.sentence +=
      fmt::format(" on {} of {} path{}; the busiest carries {:.0f}{}, spread evenly it would be {:.1f}",
                  after.used, after.ways, after.ways == 1 ? "" : "s", after.busiest,
                  is_moved ? fmt::format(", before {:.0f}", before.busiest) : "", even);
  parts.loads = after.over_even(even);
  parts.rest += load_part(parts.loads);
}

}  // namespace

Result<DocumentParts> document_parts(std::string_view text, std::string_view name, const Fabric* fabric) {
  WEFT_TRY(auto root, files::parse_json(text, name));
  const auto schema = root.is_object() ? text_of(root, "schema") : std::string();
  for (const std::string_view known :
       {"weft.diagnosis/1", "weft.assignment/1", "weft.audit/1", "weft.comparison/1"})
    if (schema != known && schema.starts_with(known.substr(0, known.find('/') + 1)))
      return fail(ErrorKind::invalid_input, "{}: it is of {}, and this weft knows {}", name,
                  outside_text(schema), known);
  if (!schema.starts_with("weft."))
    return fail(ErrorKind::invalid_input,
                "{}: no document of weft: expected an object with a schema, as -o json and --save write",
                name);
  DocumentParts parts{
      .schema = schema,
      .fabric = text_of(root, "fabric"),
      .verdict = text_of(root, "verdict"),
      .sentence = text_of(root, "sentence"),
      .findings = {},
      .rest = {},
      .pairs = {},
      .loads = {},
      .made = fmt::format("weft {}, {}", text_of(root, "tool_version"), text_of(root, "generated_at"))};
  if (schema == "weft.comparison/1") return parts;  // comparison_html.hpp has its report
  if (schema == "weft.diagnosis/1") {
    WEFT_TRY_VOID(add_diagnosis(parts, text, name, root));
  } else if (schema == "weft.assignment/1") {
    add_assignment(parts, root, fabric);
  } else if (schema == "weft.audit/1") {
    add_audit(parts, root);
  }
  if (parts.sentence.empty())
    parts.sentence = fmt::format("{}{}{}", schema, parts.fabric.empty() ? "" : " of " + parts.fabric,
                                 parts.verdict.empty() ? "" : ": " + parts.verdict);
  for (const char* told : {"schema", "generated_at", "tool_version", "sentence"}) root.erase(told);
  parts.rest += json_html(root);
  return parts;
}

}  // namespace weft::report
