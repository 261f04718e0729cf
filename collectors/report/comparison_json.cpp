// Comparisons as documents.
#include <nlohmann/json.hpp>

#include "collectors/report/comparison_document.hpp"
#include "topology/files/json_text.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::CellResult;
using files::DocumentTree;

DocumentTree side_tree(const compare::Side& side) {
  DocumentTree tree{{"mean", side.mean}, {"units", side.units}};
  if (side.units > 1) tree["spread"] = side.spread - 1;
  if (side.values.empty()) return tree;
  auto& values = tree["values"] = DocumentTree::array();
  for (const auto& value : side.values) values.push_back(value ? DocumentTree(*value) : DocumentTree());
  return tree;
}

DocumentTree cell_tree(const Cell& cell) {
  return {{"work", work_text(cell)},
          {"work_parts", cell.work},
          {"size_bytes", cell.size.count()},
          {"metric", to_string(cell.metric)}};
}

DocumentTree cycle_tree(const compare::DailyCycle& cycle) {
  const auto share_tree = [](const compare::FittedShare& one) {
    return DocumentTree{{"share", one.share}, {"low", one.low}, {"high", one.high}};
  };
  DocumentTree tree{
      {"swing", share_tree(cycle.swing)}, {"proven", cycle.proven}, {"highest_at", cycle.highest_at}};
  if (cycle.per_degree) tree["per_degree"] = share_tree(*cycle.per_degree);
  return tree;
}

DocumentTree result_tree(const CellResult& cell) {
  auto tree = cell_tree(cell.cell);
  tree["unit"] = unit_of(cell.cell.metric);
  tree["a"] = side_tree(cell.a);
  tree["b"] = side_tree(cell.b);
  tree["ratio"] = cell.ratio();
  if (cell.test) {
    tree["low"] = cell.test->low;
    tree["high"] = cell.test->high;
    tree["p"] = cell.test->p;
    tree["least_shown"] = cell.test->least_shown;
  }
  tree["verdict"] = to_string(cell.decision);
  tree["proven"] = cell.proven();
  if (cell.proven()) tree["better"] = std::string(1, better_side(cell.cell.metric, cell.ratio()));
  tree["advantage"] = compare::advantage(cell.ratio());
  if (cell.needed) tree["needed"] = *cell.needed;
  if (!cell.blocks.empty()) tree["blocks"] = cell.blocks;
  if (cell.cycle) tree["cycle"] = cycle_tree(*cell.cycle);
  return tree;
}

DocumentTree runs_tree(std::span<const compare::Run> runs) {
  auto tree = DocumentTree::array();
  for (const compare::Run& run : runs)
    tree.push_back({{"name", run.name}, {"wrong_rows", run.wrong_rows}, {"remarks", run.remarks}});
  return tree;
}

DocumentTree cells_tree(const std::vector<Cell>& cells) {
  auto tree = DocumentTree::array();
  for (const Cell& cell : cells) tree.push_back(cell_tree(cell));
  return tree;
}

DocumentTree named_tree(const std::vector<compare::NamedPlace>& places) {
  auto tree = DocumentTree::array();
  for (const compare::NamedPlace& place : places) {
    tree.push_back({{"place", place.place},
                    {"cause", to_string(place.cause)},
                    {"runs", place.runs},
                    {"channels", place.channels},
                    {"one_of", place.is_one_of}});
    if (place.value) tree.back()["value"] = *place.value;
  }
  return tree;
}

DocumentTree slow_tree(const std::vector<compare::SlowPlace>& places) {
  auto tree = DocumentTree::array();
  for (const compare::SlowPlace& place : places)
    tree.push_back({{"what", place.what}, {"ratio", place.ratio}});
  return tree;
}

DocumentTree measured_tree(const compare::MeasuredFabric& measured) {
  DocumentTree tree{{"fabric", measured.fabric},
                    {"crossed", measured.crossed},
                    {"unknown", measured.unknown},
                    {"loads", DocumentTree::array()},
                    {"queues", DocumentTree::array()}};
  for (const compare::ChannelLoad& one : measured.loads)
    tree["loads"].push_back({{"channel", one.channel}, {"load", one.load}});
  for (const compare::QueuedPlace& one : measured.queues)
    tree["queues"].push_back({{"place", one.place}, {"wait_s", one.wait}, {"channels", one.channels}});
  return tree;
}

DocumentTree reasons_tree(const std::vector<compare::Reasons>& reasons) {
  auto tree = DocumentTree::array();
  for (const compare::Reasons& one : reasons) {
    auto layers = DocumentTree::array();
    for (const compare::LayerShare& share : one.layers) {
      DocumentTree layer{{"layer", to_string(share.layer)}, {"share", share.share}};
      if (share.interval) layer["low"] = share.interval->first, layer["high"] = share.interval->second;
      layer["places"] = share.places;
      layers.push_back(std::move(layer));
    }
    tree.push_back({{"cell", cell_name(one.cell)},
                    {"layers", std::move(layers)},
                    {"joint", one.joint},
                    {"unexplained", one.unexplained}});
    if (one.asked) tree.back()["asked"] = {{"a", one.asked->first}, {"b", one.asked->second}};
  }
  return tree;
}

void add_fabrics(const ComparedFabrics& fabrics, DocumentTree& tree) {
  tree["fabrics"] = {{"a", fabrics.a}, {"b", fabrics.b}};
  tree["named_a"] = named_tree(fabrics.named_a);
  tree["named_b"] = named_tree(fabrics.named_b);
  tree["slow_a"] = slow_tree(fabrics.slow_a);
  tree["slow_b"] = slow_tree(fabrics.slow_b);
  auto& counts = tree["congestion"] = DocumentTree::array();
  for (const compare::CongestionCount& count : fabrics.congestion)
    counts.push_back({{"counter", count.counter}, {"a", count.a}, {"b", count.b}, {"proven", count.differs}});
  tree["not_told"] = fabrics.not_told;
  if (!fabrics.impossible.empty()) tree["impossible"] = fabrics.impossible;
  tree["reasons"] = reasons_tree(fabrics.reasons);
  if (fabrics.measured_a) tree["measured_a"] = measured_tree(*fabrics.measured_a);
  if (fabrics.measured_b) tree["measured_b"] = measured_tree(*fabrics.measured_b);
  for (const std::string& remark : fabrics.remarks) tree["remarks"].push_back(remark);
}

}  // namespace

std::string comparison_json(const ComparedRuns& runs, const files::DocumentStamp& stamp) {
  const compare::Comparison& comparison = runs.comparison;
  auto tree = files::stamped_tree("weft.comparison/1", stamp);
  tree["verdict"] = to_string(comparison.decision());
  tree["sentence"] = comparison_sentence(runs);
  tree["margin"] = comparison.settings.margin;
  tree["design"] = comparison.settings.design == compare::Design::blocks ? "blocks" : "runs";
  tree["a"] = runs_tree(runs.a);
  tree["b"] = runs_tree(runs.b);
  tree["cells"] = DocumentTree::array();
  for (const CellResult& cell : comparison.cells) tree["cells"].push_back(result_tree(cell));
  tree["only_a"] = cells_tree(comparison.b.missing);
  tree["only_b"] = cells_tree(comparison.a.missing);
  tree["incomplete_runs_a"] = comparison.a.incomplete_runs;
  tree["incomplete_runs_b"] = comparison.b.incomplete_runs;
  tree["remarks"] = comparison.remarks;
  if (comparison.settings.looks > 1) tree["looks"] = comparison.settings.looks;
  if (runs.fabrics) add_fabrics(*runs.fabrics, tree);
  return files::document_text(tree) + "\n";
}

}  // namespace weft::report
