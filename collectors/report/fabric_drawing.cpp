#include "collectors/report/fabric_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collectors/report/fabric_layout.hpp"
#include "topology/base/xml_text.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

using files::put;
using Text = files::JsonText;

/// Rails are told apart by colour, those of one switch's cables are one; of Okabe and Ito (2008), which
/// colour-blind people tell apart.
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                              "#56b4e9", "#e69f00", "#7f7f7f", "#000000"};

const char* colour_of(const Fabric& fabric, const Link& link) {
  for (const PortId end : {link.a, link.b})
    if (const Port& port = fabric.port(end);
        fabric.is_host(port.node) && fabric.ports_of(port.node).size() > 1)
      return kColours[(port.number.value() - 1u) % kColours.size()];
  return "#8a9099";
}

struct Line {
  std::vector<LinkId> links;
};

void put_lines(Text& out, const Fabric& fabric, const FabricLayout& layout) {
  std::map<std::pair<NodeId, NodeId>, Line> lines;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link& link = fabric.link(LinkId(l));
    lines[std::minmax(fabric.port(link.a).node, fabric.port(link.b).node)].links.emplace_back(l);
  }
  const double opacity = lines.size() > 400 ? 0.45 : 0.8;
  for (const auto& [ends, line] : lines) {
    const NodeBox* low = &layout.nodes[ends.first.value()];
    const NodeBox* high = &layout.nodes[ends.second.value()];
    if (low->y < high->y) std::swap(low, high);
    const double from = low->y - low->height / 2;
    const double to = low->y == high->y ? high->y - high->height / 2 : high->y + high->height / 2;
    std::string names;
    for (const LinkId link : line.links) names += (names.empty() ? "" : ", ") + fabric.name_of(link);
    put(out,
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\" "
        "stroke-opacity=\"{}\"><title>{}</title></line>\n",
        low->x, from, high->x, to, colour_of(fabric, fabric.link(line.links.front())),
        std::min(1.0 + 0.6 * static_cast<double>(line.links.size() - 1), 4.0), opacity, xml_escaped(names));
    if (line.links.size() > 1)
      put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#444\">{}x</text>\n",
          low->x * 0.8 + high->x * 0.2 + 3, from * 0.8 + to * 0.2, line.links.size());
  }
}

const char* fill_of(Tier tier) {
  switch (tier) {
    case Tier::host:
      return "#eef1f4";
    case Tier::leaf:
      return "#d6e8f5";
    case Tier::spine:
      return "#d9f0e3";
    case Tier::core:
    case Tier::tier4:
    case Tier::tier5:
    case Tier::tier6:
      return "#f7e6cf";
  }
  return "";
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

}  // namespace

std::string fabric_svg(const Fabric& fabric) {
  const auto layout = layout_of(fabric);
  Text out;
  put(out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" font-family=\"monospace\" font-size=\"11\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      layout.width, layout.height, xml_escaped(fabric.name()));
  put_lines(out, fabric, layout);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const NodeBox& at = layout.nodes[n];
    const Node& node = fabric.node(NodeId(n));
    put(out,
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#5b6570\"/>\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        at.x - at.width / 2, at.y - at.height / 2, at.width, at.height, fill_of(node.tier), at.x, at.y + 4,
        xml_escaped(node.name));
  }
  put(out, "</svg>\n");
  return fmt::to_string(out);
}

std::string fabric_dot(const Fabric& fabric) {
  Text out;
  put(out, "graph {} {{\n  rankdir=BT;\n  node [shape=box, fontname=monospace];\n",
      in_quotes(fabric.name().find_first_of("\"\\") == std::string::npos ? fabric.name() : "fabric"));
  for (const Tier tier : kTiers) {
    std::string row;
    for (const Node& node : fabric.nodes())
      if (node.tier == tier) row += " " + in_quotes(node.name) + ";";
    if (!row.empty()) put(out, "  {{ rank=same;{} }}\n", row);
  }
  const auto end = [&](PortId id) {
    const Port& port = fabric.port(id);
    return port.name.empty() ? fmt::format("p{}", port.number.value()) : port.name;
  };
  for (const Link& link : fabric.links()) {
    const bool in_order =
        fabric.node(fabric.port(link.a).node).tier <= fabric.node(fabric.port(link.b).node).tier;
    const PortId low = in_order ? link.a : link.b;
    const PortId high = in_order ? link.b : link.a;
    put(out, "  {} -- {} [taillabel={}, headlabel={}];\n", in_quotes(fabric.name_of(fabric.port(low).node)),
        in_quotes(fabric.name_of(fabric.port(high).node)), in_quotes(end(low)), in_quotes(end(high)));
  }
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::report
