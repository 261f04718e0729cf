#include "collectors/web/report_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "collectors/compare/measured_run.hpp"
#include "collectors/report/crossed_fabric.hpp"
#include "collectors/report/document_html.hpp"
#include "collectors/web/assets.hpp"
#include "collectors/web/layout_json.hpp"
#include "collectors/web/state_json.hpp"
#include "topology/base/html_page.hpp"
#include "topology/base/xml_text.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_text.hpp"

namespace weft::web {
namespace {

using files::JsonText;
using files::put;

constexpr std::size_t kMaxCrossed = 200'000;  // links; fabrics of 24,576 NICs have 73,728

/// Files of the live page's folder, each after those that it imports.
constexpr std::array<std::string_view, 8> kModules{"signs", "text",   "saving", "scene",
                                                   "model", "matrix", "graph",  "report"};
constexpr std::array<std::string_view, 3> kModulesOfSaving{"text", "saving", "saved"};

std::string_view module_text(std::string_view name) {
  const auto path = fmt::format("/{}.js", name);
  const auto all = assets();
  const auto at = std::ranges::find(all, path, &Asset::path);
  return at == all.end() ? std::string_view() : at->text;
}

/// "const { a, b: c } = m_signs;" of "import { a, b as c } from './signs.js';"
std::string import_line(std::string_view line) {
  const auto open = line.find('{'), close = line.find('}'), from = line.find("'./");
  std::string names(line.substr(open, close - open + 1));
  for (auto at = names.find(" as "); at != std::string::npos; at = names.find(" as "))
    names.replace(at, 4, ": ");
  const auto module = line.substr(from + 3, line.find(".js'") - from - 3);
  return fmt::format("const {} = m_{};\n", names, module);
}

/// The name that "const x = ...", "function x(...)", "class x {" declares.
std::string declared(std::string_view line) {
  line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  return std::string(line.substr(0, line.find_first_of(" (={")));
}

/// All modules in one script: each is a function of its own, whose value is what it exports.
std::string bundled_script(std::span<const std::string_view> modules) {
  std::string script = "'use strict';\n";
  for (const std::string_view name : modules) {
    std::string exported;
    script += fmt::format("const m_{} = (() => {{\n", name);
    for (std::string_view rest = module_text(name); !rest.empty();) {
      const auto end = std::min(rest.find('\n'), rest.size());
      auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.starts_with("import {")) {
        script += import_line(line);
        continue;
      }
      if (line.starts_with("export ")) {
        line.remove_prefix(7);
        exported += declared(line) + ", ";
      }
      script.append(line).append("\n");
    }
    script += fmt::format("return {{ {} }};\n}})();\n", exported);
  }
  return script;
}

std::string source_hash(std::string_view script) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(script.data()), script.size());
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)>
      text{};
  sodium_bin2base64(text.data(), text.size(), digest.data(), digest.size(), sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("sha256-{}", text.data());
}

/// As the page ranks them (ui/signs.js).
char worse(char a, char b) {
  constexpr std::string_view kRanked = "hnucdf";
  return kRanked.find(a) >= kRanked.find(b) ? a : b;
}

/// What a document holds against channels, as the drawing takes it: a letter a channel, and findings. What a
/// document does not vouch for is not healthy in it: no run covered it, or nobody knows.
class State {
 public:
  explicit State(const Fabric& fabric) : fabric_(&fabric), letters_(fabric.channel_count(), 'n') {}

  void take(const files::DiagnosisDocument& document) {
    take(document.coverage);
    for (const files::LinkReport& link : document.links)
      add(link.link, to_string(link.cause), link.verdict, of_link(link.link, link.from), link.evidence);
    for (const files::HostReport& host : document.hosts)
      add(host.nic.value_or(host.host), host.cause ? to_string(*host.cause) : "", host.verdict,
          host.ends ? of_link(host.ends->name, host.from) : std::vector<ChannelId>(), host.evidence);
    for (const files::SetReport& set : document.sets)
      add("one of several", to_string(set.cause), set.verdict, named(files::channels_of(set)), {}, true);
    for (const files::GroupReport& group : document.groups)
      add(fmt::format("{}", fmt::join(group.nodes, ", ")), to_string(group.cause), group.verdict,
          named(group.channels), group.evidence);
  }

  /// Of an assignment, which says nothing of health: what carries more than the bound.
  void take(const std::map<std::string, double>& loads) {
    constexpr double kRounding = 1.001;
    for (const auto& [channel, load] : loads)
      if (const auto at = fabric_->find_channel(channel); at && load > kRounding)
        add(channel, "load", Verdict::congested, {*at}, {fmt::format("{:.3f} times the bound", load)});
  }

  std::string json() && {
    JsonText out;
    put(out, "{{\"channels\":\"{}\",\"incidents\":", letters_);
    files::put_array(out, findings_, [&](const Finding& finding) {
      out.append(std::string_view("{\"place\":"));
      files::put_string(out, finding.place);
      put(out, ",\"cause\":\"{}\",\"verdict\":\"{}\",\"state\":\"{}\",\"channels\":", finding.cause,
          to_string(finding.verdict), finding.is_open ? "suspected" : "open");
      files::put_array(out, finding.channels, [&](ChannelId channel) { put(out, "{}", channel.value()); });
      out.append(std::string_view(",\"evidence\":"));
      files::put_array(out, finding.evidence, [&](const std::string& line) { files::put_string(out, line); });
      out.push_back('}');
    });
    out.push_back('}');
    return fmt::to_string(out);
  }

 private:
  /// By the coverage alone; what is found comes after it.
  void take(const files::CoverageReport& coverage) {
    const auto put = [&](const std::vector<std::string>& channels, char letter) {
      for (const std::string& channel : channels)
        if (const auto at = fabric_->find_channel(channel)) letters_[at->value()] = letter;
    };
    if (!coverage.in_scope.empty())
      put(coverage.in_scope, 'h');
    else  // a document that does not tell which of the fabric's channels it is of vouches for none
      std::ranges::fill(
          letters_, coverage.out_of_scope > 0 || coverage.channels < fabric_->channel_count() ? 'u' : 'h');
    put(coverage.thin, 'u');
    put(coverage.masked, 'u');
    put(coverage.missing, 'n');
  }

  struct Finding {
    std::string place;
    std::string_view cause;
    Verdict verdict = Verdict::unknown;
    std::vector<ChannelId> channels;
    std::vector<std::string> evidence;
    bool is_open = false;  // one of several is at fault
  };

  std::vector<ChannelId> of_link(std::string_view name, const std::optional<std::string>& from) const {
    const auto link = fabric_->find_link(name);
    if (!link) return {};
    std::vector<ChannelId> channels;
    for (const ChannelId channel : {ChannelId(2 * link->value()), ChannelId(2 * link->value() + 1)})
      if (!from || fabric_->node(fabric_->source_node(channel)).name == *from) channels.push_back(channel);
    return channels;
  }
  std::vector<ChannelId> named(const std::vector<std::string>& names) const {
    std::vector<ChannelId> channels;
    for (const std::string& name : names)
      if (const auto at = fabric_->find_channel(name)) channels.push_back(*at);
    return channels;
  }
  void add(std::string place, std::string_view cause, Verdict verdict, std::vector<ChannelId> channels,
           std::vector<std::string> evidence, bool is_open = false) {
    if (!is_open)
      for (const ChannelId channel : channels) {
        char& letter = letters_[channel.value()];
        letter = worse(letter, letter_of(verdict));
      }
    findings_.push_back(
        {std::move(place), cause, verdict, std::move(channels), std::move(evidence), is_open});
  }

  const Fabric* fabric_;
  std::string letters_;
  std::vector<Finding> findings_;
};

/// Within a script element: nothing in it ends the element.
std::string harmless_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

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

Result<std::string> state_json(std::string_view json, std::string_view name,
                               const report::DocumentParts& parts, const Fabric& fabric) {
  State state(fabric);
  state.take(parts.loads);
  if (parts.schema == "weft.diagnosis/1") {
    WEFT_TRY(const auto document, files::parse_diagnosis(json, name));
    state.take(document);
  }
  return std::move(state).json();
}

constexpr std::string_view kFabricPart =
    R"html(<h2>The fabric</h2><div class="tools"><form id="search"><input id="find" type="search" placeholder="find a node or link ( / )" aria-label="find a node or link" autocomplete="off" list="names"><datalist id="names"></datalist></form><button id="up" type="button">whole fabric</button><span id="legend"></span></div>
<div class="frame" id="frame"><canvas id="view" tabindex="0" role="img" aria-label="the fabric by tier; arrow keys, Enter, Escape"></canvas></div>
<div id="place" role="status" aria-live="polite"></div><div id="tip" hidden></div>
<noscript><p>The drawing needs JavaScript; findings and tables do not.</p></noscript>
)html";
constexpr std::string_view kPairsPart =
    R"html(<h2>Pairs</h2><div class="tools"><span id="scale"></span></div><div class="frame"><canvas id="heat" role="img" aria-label="of each pair the share of its right that flows got; the table below has the slowest"></canvas></div>
)html";

}  // namespace

Result<std::string> report_page(std::string_view json, std::string_view name, const Fabric* fabric) {
  WEFT_TRY(const auto parts, report::document_parts(json, name, fabric));
  const bool is_drawn = parts.schema == "weft.diagnosis/1" || parts.schema == "weft.assignment/1";
  if (fabric && is_drawn && !parts.fabric.empty() && parts.fabric != fabric->name())
    return fail(ErrorKind::usage, "{} is of the fabric {}, not of {}", name, parts.fabric, fabric->name());
  std::optional<Fabric> crossed;
  if (!fabric && parts.schema == "weft.diagnosis/1") {
    crossed = crossed_by(json, parts.fabric);
    if (crossed) fabric = &*crossed;
  }
  std::string values;
  if (fabric && is_drawn) {
    WEFT_TRY(const auto state, state_json(json, name, parts, *fabric));
    values = fmt::format("\"layout\":{},\"state\":{}", layout_json(*fabric), state);
  }
  const bool has_pairs = !parts.pairs.cells.empty();
  if (has_pairs) values += fmt::format("{}\"pairs\":{}", values.empty() ? "" : ",", pairs_json(parts.pairs));
  const std::string script = bundled_script(kModules);
  std::string page = html_head(fmt::format("weft: {}", parts.sentence), source_hash(script));
  if (!parts.verdict.empty())
    page += fmt::format("<p><span class=\"verdict {0}\">{0}</span></p>\n", xml_escaped(parts.verdict));
  page += fmt::format("<h1>{}</h1>\n", xml_escaped(parts.sentence));
  if (fabric && is_drawn) page += kFabricPart;
  if (crossed)
    page += "<p class=\"soft\">Drawn as the flows crossed it; --fabric FILE draws all of it.</p>\n";
  page += parts.findings;
  if (has_pairs) page += kPairsPart;
  if (has_pairs && !(fabric && is_drawn)) page += "<div id=\"tip\" hidden></div>\n";
  page += parts.rest;
  page += fmt::format("<p class=\"soft\">{}, {}</p>\n", xml_escaped(parts.schema), xml_escaped(parts.made));
  page +=
      fmt::format("<script type=\"application/json\" id=\"data\">{{{}}}</script>\n", harmless_json(values));
  page += fmt::format("<script>{}</script>\n", script);
  page += kHtmlEnd;
  return page;
}

PageScript saving_script() {
  auto text = bundled_script(kModulesOfSaving);
  auto hash = source_hash(text);
  return {std::move(text), std::move(hash)};
}

}  // namespace weft::web
