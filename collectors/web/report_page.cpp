#include "collectors/web/report_page.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "collectors/compare/measured_run.hpp"
#include "collectors/report/comparison_html.hpp"
#include "collectors/report/crossed_fabric.hpp"
#include "collectors/report/document_html.hpp"
#include "collectors/report/words.hpp"
#include "collectors/web/drawn_state.hpp"
#include "collectors/web/layout_json.hpp"
#include "collectors/web/page_script.hpp"
#include "topology/base/html_page.hpp"
#include "topology/base/xml_text.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_text.hpp"

namespace weft::web {
namespace {

using files::JsonText;
using files::put;
using Fabrics = std::vector<const Fabric*>;

constexpr std::size_t kMaxCrossed = 200'000;  // links; fabrics of 24,576 NICs have 73,728

std::string pairs_json(const report::PairMap& map) {
  JsonText out;
  out.append(std::string_view("{\"names\":"));
  files::put_array(out, map.names, [&](const std::string& name) { files::put_string(out, name); });
  out.append(std::string_view(",\"cells\":"));
  files::put_array(out, map.cells, [&](const report::PairMap::Cell& cell) {
    put(out, "[{},{},{:.4f},{}]", cell.row, cell.column, cell.share, cell.flows);
  });
  out.push_back('}');
  return fmt::to_string(out);
}

/// What the flows of a document crossed.
std::optional<Fabric> crossed_by(std::string_view json, std::string_view fabric) {
  const auto run = compare::read_measured_run("document", json, "");
  if (!run) return std::nullopt;
  return report::crossed_fabric(fabric, std::span(&*run, 1), kMaxCrossed);
}

/// A fabric that the script draws.
struct View {
  std::string key;     // "a"; empty of one alone
  std::string layout;  // empty: that of the first
  std::string state;
};

constexpr std::string_view kTip =
    "<div id=\"tip\" hidden></div>\n<noscript><p>Drawings need JavaScript; findings and tables do "
    "not.</p></noscript>\n";
constexpr std::string_view kNothingToDraw =
    "<p class=\"soft\">The fabrics are not drawn: the document does not tell which channels its runs "
    "crossed.</p>\n";
constexpr std::string_view kPairsPart =
    R"html(<h2>Pairs</h2><div class="tools"><span id="scale"></span></div><div class="frame"><canvas id="heat" role="img" aria-label="of each pair the share of its right that flows got; the table below has the slowest"></canvas></div>
)html";

/// `whose`: " of A"; empty of one alone.
std::string view_part(std::string_view key, std::string_view whose) {
  return fmt::format(
      R"html(<section data-view="{0}" aria-label="the fabric{1}"><div class="tools"><form class="search"><input class="find" type="search" placeholder="find a node or link ( / )" aria-label="find a node or link{1}" autocomplete="off" list="names{0}"><datalist id="names{0}"></datalist></form><button class="up" type="button" aria-label="whole fabric{1}">whole fabric</button><span class="legend"></span></div>
<div class="frame"><canvas class="view" tabindex="0" role="img" aria-label="the fabric{1} by tier; arrow keys, Enter, Escape"></canvas></div>
<div class="place" role="status" aria-live="polite"></div></section>
)html",
      key, whose);
}

std::string views_json(const std::vector<View>& views) {
  JsonText out;
  files::put_array(out, views, [&](const View& view) {
    put(out, "{{\"key\":\"{}\",\"state\":{}", view.key, view.state);
    if (!view.layout.empty()) put(out, ",\"layout\":{}", view.layout);
    out.push_back('}');
  });
  return fmt::to_string(out);
}

/// `values`: of the script, members of an object.
std::string page_of(std::string_view title, std::string_view content, std::string_view values) {
  const std::string script = report_script();
  return html_head(title, source_hash(script)) +
         fmt::format(
             "{}<script type=\"application/json\" id=\"data\">{{{}}}</script>\n<script>{}</script>\n{}",
             content, harmless_json(values), script, kHtmlEnd);
}

/// The fabrics of A and of B: one that is given alone is both. None are given, or the document tells of no
/// channels: none.
Result<Fabrics> compared_fabrics(const report::ComparisonDocument& document, std::string_view name,
                                 const Fabrics& given) {
  const auto& told = document.fabrics;
  if (given.size() > 2)
    return fail(ErrorKind::usage, "{} compares two fabrics: {} are too many", name, given.size());
  if (given.empty() || !told || !told->measured_a || !told->measured_b) return Fabrics();
  const Fabrics both{given.front(), given.back()};
  for (const auto& [side, fabric, measured] :
       {std::tuple('A', both[0], &*told->measured_a), std::tuple('B', both[1], &*told->measured_b)})
    if (measured->fabric != fabric->name())
      return fail(ErrorKind::usage, "{}: {} is the fabric {}, not {}", name, side, measured->fabric,
                  fabric->name());
  return both;
}

Result<std::string> comparison_page(std::string_view json, std::string_view name, const Fabrics& given,
                                    const report::DocumentLimits& limits) {
  WEFT_TRY(const auto document, report::parse_comparison(json, name, limits));
  WEFT_TRY(const auto fabrics, compared_fabrics(document, name, given));
  std::string drawings;
  std::vector<View> views;
  if (!fabrics.empty()) {
    const auto& told = *document.fabrics;
    const auto draw = [&](std::string_view key, char side, std::string_view called, const Fabric& fabric,
                          ComparedState state) {
      views.push_back({std::string(key), layout_json(fabric), std::move(state.json)});
      drawings += fmt::format("<h3>{}: {}</h3>\n{}", side, xml_escaped(called),
                              view_part(key, fmt::format(" of {}", side)));
      if (state.elsewhere > 0)
        drawings += fmt::format(
            "<p class=\"soft\">{} of the document {} not, or not wholly, in this fabric: its cabling "
            "differs.</p>\n",
            report::counted(state.elsewhere, "place", ' '), state.elsewhere == 1 ? "is" : "are");
    };
    draw("a", 'A', told.a, *fabrics[0],
         compared_state(*fabrics[0], *told.measured_a, told.named_a, document.a.size()));
    draw("b", 'B', told.b, *fabrics[1],
         compared_state(*fabrics[1], *told.measured_b, told.named_b, document.b.size()));
    if (views[0].layout == views[1].layout) views[1].layout.clear();
    drawings += kTip;
  } else if (given.empty() && document.fabrics && document.fabrics->measured_a) {
    drawings = "<p class=\"soft\">Not drawn: --fabric A.yaml --fabric B.yaml draws them.</p>\n";
  }
  const auto verdict = to_string(document.comparison.decision());
  return page_of(
      fmt::format("weft compare: {}", verdict),
      fmt::format("{}{}<p class=\"soft\">{}</p>\n", report::comparison_html(document.runs(), drawings),
                  given.empty() || !fabrics.empty() ? "" : kNothingToDraw, xml_escaped(document.made)),
      fmt::format("\"views\":{}", views_json(views)));
}

}  // namespace

Result<std::string> report_page(std::string_view json, std::string_view name, const Fabrics& fabrics,
                                const report::DocumentLimits& limits) {
  const Fabric* fabric = fabrics.empty() ? nullptr : fabrics.front();
  WEFT_TRY(const auto parts, report::document_parts(json, name, fabric));
  if (parts.schema == "weft.comparison/1") return comparison_page(json, name, fabrics, limits);
  if (fabrics.size() > 1)
    return fail(ErrorKind::usage, "{} is of one fabric: {} are given", name, fabrics.size());
  const bool is_diagnosis = parts.schema == "weft.diagnosis/1";
  const bool is_drawn = is_diagnosis || parts.schema == "weft.assignment/1" || parts.schema == "weft.audit/1";
  if (fabric && is_drawn && !parts.fabric.empty() && parts.fabric != fabric->name())
    return fail(ErrorKind::usage, "{} is of the fabric {}, not of {}", name, parts.fabric, fabric->name());
  std::optional<Fabric> crossed;
  if (!fabric && is_diagnosis) {
    crossed = crossed_by(json, parts.fabric);
    if (crossed) fabric = &*crossed;
  }
  std::vector<View> views;
  if (fabric && is_diagnosis) {
    WEFT_TRY(const auto document, files::parse_diagnosis(json, name));
    views.push_back({"", layout_json(*fabric), diagnosis_state(*fabric, document)});
  } else if (fabric && is_drawn) {
    views.push_back({"", layout_json(*fabric), carried_state(*fabric, parts.loads)});
  }
  const bool has_pairs = !parts.pairs.cells.empty();
  std::string values = fmt::format("\"views\":{}", views_json(views));
  if (has_pairs) values += fmt::format(",\"pairs\":{}", pairs_json(parts.pairs));
  std::string content;
  if (!parts.verdict.empty())
    content += fmt::format("<p><span class=\"verdict {0}\">{0}</span></p>\n", xml_escaped(parts.verdict));
  content += fmt::format("<h1>{}</h1>\n", xml_escaped(parts.sentence));
  if (!views.empty()) content += fmt::format("<h2>The fabric</h2>{}", view_part("", ""));
  if (crossed)
    content += "<p class=\"soft\">Drawn as the flows crossed it; --fabric FILE draws all of it.</p>\n";
  content += parts.findings;
  if (has_pairs) content += kPairsPart;
  if (has_pairs || !views.empty()) content += kTip;
  content += parts.rest;
  content +=
      fmt::format("<p class=\"soft\">{}, {}</p>\n", xml_escaped(parts.schema), xml_escaped(parts.made));
  return page_of(fmt::format("weft: {}", parts.sentence), content, values);
}

}  // namespace weft::web
