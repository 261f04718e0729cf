#include "collectors/report/comparison_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "collectors/report/comparison_charts.hpp"
#include "collectors/report/comparison_reasons.hpp"
#include "collectors/report/document_charts.hpp"
#include "collectors/report/words.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/xml_text.hpp"
#include "topology/files/json_text.hpp"

namespace weft::report {
namespace {

using compare::CellResult;
using files::put;
using Text = files::JsonText;

constexpr std::size_t kMaxDrawnCells = 200;  // the table has all
constexpr std::size_t kMaxTimelines = 8;     // of the greatest effects
constexpr std::size_t kMaxBusy = 50;         // channels of a side: the document has all

std::string escaped(std::string_view text) { return xml_escaped(outside_text(text)); }

void put_heading(Text& out, const ComparedRuns& runs) {
  const auto decision = compare::to_string(runs.comparison.decision());
  put(out, "<p><span class=\"verdict {0}\">{0}</span></p>\n<h1>{1}</h1>\n", decision,
      escaped(comparison_sentence(runs)));
  if (runs.fabrics)
    put(out, "<p>A: <b>{}</b><br>B: <b>{}</b></p>\n", escaped(runs.fabrics->a), escaped(runs.fabrics->b));
}

void put_layers_table(Text& out, const compare::Reasons& reasons) {
  put(out, "<table><tr><th>layer</th><th class=\"n\">share (95 %)</th><th>named</th></tr>\n");
  for (const compare::LayerShare& share : reasons.layers)
    put(out, "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", to_string(share.layer),
        share_text(share), escaped(joined(share.places, ", ")));
  put(out,
      "<tr><td>several together</td><td class=\"n\">{:.0f} %</td><td></td></tr>\n"
      "<tr><td>unexplained</td><td class=\"n\">{:.0f} %</td><td></td></tr></table>\n",
      reasons.joint * 100, reasons.unexplained * 100);
}

/// The cells that are explained, the greatest difference first.
std::vector<std::pair<const CellResult*, const compare::Reasons*>> explained(const ComparedRuns& runs) {
  std::map<compare::Cell, const CellResult*> cells;
  for (const CellResult& cell : runs.comparison.cells) cells.try_emplace(cell.cell, &cell);
  std::vector<std::pair<const CellResult*, const compare::Reasons*>> all;
  for (const compare::Reasons& reasons : runs.fabrics->reasons)
    if (const auto at = cells.find(reasons.cell); at != cells.end()) all.emplace_back(at->second, &reasons);
  std::ranges::stable_sort(all, std::greater(),
                           [](const auto& pair) { return compare::advantage(pair.first->ratio()); });
  return all;
}

void put_named(Text& out, char side, const std::vector<compare::NamedPlace>& places, std::size_t runs) {
  put(out, "<p>Named in {}: ", side);
  if (places.empty()) put(out, "nothing");
  for (std::size_t i = 0; i < places.size(); ++i)
    put(out, "{}<b>{}</b>", i > 0 ? ", " : "", escaped(place_text(places[i], runs)));
  put(out, "</p>\n");
}

void put_reasons(Text& out, const ComparedRuns& runs) {
  put(out, "<h2>Why</h2>\n");
  const auto all = explained(runs);
  bool is_first = true;
  for (const auto& [cell, reasons] : all) {
    put(out, "<details{}><summary>{}: {}</summary>\n", is_first ? " open" : "",
        escaped(cell_name(cell->cell)), escaped(cell_verdict(*cell, runs.comparison.settings.design)));
    if (reasons->asked) {
      put(out, "<p>{}</p>\n", escaped(asked_text(*reasons->asked)));
    } else {
      fmt::format_to(std::back_inserter(out), "{}", layers_chart(*reasons));
      put_layers_table(out, *reasons);
    }
    put(out, "</details>\n");
    if (const auto* layer = is_first ? main_layer(*reasons) : nullptr) {
      const bool b_is_worse = compare::better_side(cell->cell.metric, cell->ratio()) == 'A';
      put(out, "<p>To do: {}.</p>\n", escaped(compare::advice_of(layer->layer, b_is_worse ? 'B' : 'A')));
    }
    is_first = false;
  }
  if (all.empty()) put(out, "<p>No difference is proven: there is nothing to explain.</p>\n");
  put_named(out, 'A', runs.fabrics->named_a, runs.a.size());
  put_named(out, 'B', runs.fabrics->named_b, runs.b.size());
  for (const std::string& what : beside_layers(*runs.fabrics)) put(out, "<p>{}</p>\n", escaped(what));
}

bool has_reasons(const ComparedFabrics& fabrics) {
  return fabrics.measured_a || !fabrics.reasons.empty() || !fabrics.named_a.empty() ||
         !fabrics.named_b.empty() || !beside_layers(fabrics).empty();
}

void put_cells(Text& out, const ComparedRuns& runs) {
  const auto& comparison = runs.comparison;
  put(out, "<h2>Effect of each cell</h2>\n");
  fmt::format_to(std::back_inserter(out), "{}", forest_chart(comparison, kMaxDrawnCells));
  if (comparison.cells.size() > kMaxDrawnCells)
    put(out, "<p>The chart has the first {} of {} cells, the table all.</p>\n", kMaxDrawnCells,
        comparison.cells.size());
  put(out,
      "<details><summary>As a table</summary><table><tr><th>cell</th><th class=\"n\">A</th><th "
      "class=\"n\">B</th><th class=\"n\">B/A (95 %)</th><th>verdict</th></tr>\n");
  for (const CellResult& cell : comparison.cells)
    put(out,
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td><b "
        "class=\"{}\">{}</b></td></tr>\n",
        escaped(cell_name(cell.cell)), cell_value(cell.cell.metric, cell.a.mean),
        cell_value(cell.cell.metric, cell.b.mean), cell_ratio(cell), compare::to_string(cell.decision),
        escaped(cell_verdict(cell, comparison.settings.design)));
  put(out, "</table></details>\n");
}

/// Rows of one side: where more wanted to cross than a channel carries, and where packets waited.
void put_busy(Text& out, char side, const std::optional<compare::MeasuredFabric>& measured) {
  if (!measured) return;
  for (const compare::QueuedPlace& queue : measured->queues)
    put(out, "<tr><td>{}</td><td>{}</td><td class=\"n\">{} in queues</td></tr>\n", side, escaped(queue.place),
        cell_value(compare::Metric::time, queue.wait));
  const auto& loads = measured->loads;
  for (const compare::ChannelLoad& one : std::span(loads).first(std::min(loads.size(), kMaxBusy)))
    put(out, "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.2f} times what it carries</td></tr>\n", side,
        escaped(one.channel), one.load);
  if (loads.size() > kMaxBusy)
    put(out, "<tr><td>{}</td><td>and {} more</td><td></td></tr>\n", side, loads.size() - kMaxBusy);
}

void put_fabrics(Text& out, const ComparedFabrics& fabrics, std::string_view drawings) {
  put(out, "<h2>The fabrics, as the packets crossed them</h2>\n{}", drawings);
  const auto is_busy = [](const std::optional<compare::MeasuredFabric>& measured) {
    return measured && !(measured->loads.empty() && measured->queues.empty());
  };
  if (!is_busy(fabrics.measured_a) && !is_busy(fabrics.measured_b)) return;
  put(out,
      "<details><summary>Where flows contend, and where packets wait</summary><table><tr><th>side</th>"
      "<th>from, to</th><th class=\"n\">over all runs</th></tr>\n");
  put_busy(out, 'A', fabrics.measured_a);
  put_busy(out, 'B', fabrics.measured_b);
  put(out, "</table></details>\n");
}

void put_blocks(Text& out, const ComparedRuns& runs) {
  std::vector<const CellResult*> cells;
  for (const CellResult& cell : runs.comparison.cells)
    if (!cell.blocks.empty()) cells.push_back(&cell);
  if (cells.empty()) return;
  std::ranges::stable_sort(cells, std::greater(),
                           [](const CellResult* cell) { return compare::advantage(cell->ratio()); });
  const std::size_t shown = std::min(cells.size(), kMaxTimelines);
  put(out, "<h2>Blocks, in the order in which they ran</h2>\n");
  for (std::size_t i = 0; i < shown; ++i) {
    put(out, "<details{}><summary>{}</summary>\n", i == 0 ? " open" : "", escaped(cell_name(cells[i]->cell)));
    fmt::format_to(std::back_inserter(out), "{}",
                   blocks_chart(*cells[i], runs.comparison.settings.margin_of(cells[i]->cell.metric)));
    put(out, "<table><tr><th>block</th>");
    for (std::size_t k = 0; k < cells[i]->blocks.size(); ++k) put(out, "<th class=\"n\">{}</th>", k + 1);
    put(out, "</tr><tr><td>B/A</td>");
    for (const double ratio : cells[i]->blocks) put(out, "<td class=\"n\">{:.4g}</td>", ratio);
    put(out, "</tr></table></details>\n");
  }
}

std::vector<double> values_of(const compare::Side& side) {
  std::vector<double> all;
  for (const auto& value : side.values)
    if (value) all.push_back(*value);
  return all;
}

/// The values of a cell's runs, A's and B's, of the cells that differ most. A document may have none.
void put_quantiles(Text& out, const ComparedRuns& runs) {
  std::vector<const CellResult*> cells;
  for (const CellResult& cell : runs.comparison.cells)
    if (std::min(cell.a.units, cell.b.units) >= compare::kMinUnits) cells.push_back(&cell);
  std::ranges::stable_sort(cells, std::greater(),
                           [](const CellResult* cell) { return compare::advantage(cell->ratio()); });
  cells.resize(std::min(cells.size(), kMaxTimelines));
  bool is_first = true;
  for (const CellResult* cell : cells) {
    auto a = values_of(cell->a), b = values_of(cell->b);
    if (a.empty() || b.empty()) continue;
    if (is_first) put(out, "<h2>Quantile functions of the runs</h2>\n");
    put(out, "<details{}><summary>{}</summary>\n", is_first ? " open" : "", escaped(cell_name(cell->cell)));
    is_first = false;
    out.append(quantile_chart(
        cell->cell.metric == compare::Metric::time        ? "share of runs that took no longer; seconds"
        : cell->cell.metric == compare::Metric::bandwidth ? "share of runs that got no more; bits per second"
                                                          : "share of runs that had no more",
        {{"A", std::move(a)}, {"B", std::move(b)}}));
    put(out, "</details>\n");
  }
}

void put_remarks(Text& out, const ComparedRuns& runs) {
  const auto remarks = comparison_remarks(runs);
  if (remarks.empty()) return;
  put(out, "<h2>Remarks</h2><ul>\n");
  for (const std::string& remark : remarks) put(out, "<li>{}</li>\n", escaped(remark));
  put(out, "</ul>\n");
}

}  // namespace

std::string comparison_html(const ComparedRuns& runs, std::string_view drawings) {
  Text out;
  put_heading(out, runs);
  if (runs.fabrics && has_reasons(*runs.fabrics)) put_reasons(out, runs);
  put_cells(out, runs);
  if (runs.fabrics && runs.fabrics->measured_a) put_fabrics(out, *runs.fabrics, drawings);
  put_blocks(out, runs);
  put_quantiles(out, runs);
  put_remarks(out, runs);
  return fmt::to_string(out);
}

}  // namespace weft::report
