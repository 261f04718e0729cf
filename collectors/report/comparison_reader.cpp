// Documents of comparisons, read: whatever stands in them was written by somebody else.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>

#include "collectors/report/comparison_document.hpp"
#include "topology/files/json_view.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::CellResult;
using compare::Layer;
using compare::Metric;
using files::JsonView;

constexpr std::size_t kMaxCells = 20'000;  // ten times those of the largest comparison that was measured
constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr std::array kMetrics{Metric::time, Metric::bandwidth, Metric::arrived, Metric::ways};
constexpr std::array kDecisions{compare::Decision::equal, compare::Decision::differs,
                                compare::Decision::undecided};
constexpr std::array kLayers{Layer::hosts,     Layer::cables,     Layer::traffic,
                             Layer::losses,    Layer::collisions, Layer::oversubscription,
                             Layer::line_rate, Layer::hops,       Layer::queueing,
                             Layer::pauses};

Result<std::string> text_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  WEFT_TRY(const auto text, member.text());
  return std::string(text);
}

template <class Word, std::size_t N>
Result<Word> word_at(const JsonView& object, std::string_view key, const std::array<Word, N>& words) {
  WEFT_TRY(const JsonView member, object.need(key));
  WEFT_TRY(const auto text, member.text());
  for (const Word word : words)
    if (to_string(word) == text) return word;
  return member.error("'{}' is no word that stands here", text);
}

Result<double> number_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  return member.number();
}

/// What no JSON can say, as infinity, is written as null.
Result<double> number_or(const JsonView& object, std::string_view key, double otherwise) {
  const auto member = object.find(key);
  if (!member) return otherwise;
  return member->number();
}

Result<double> measured(const JsonView& value) {
  WEFT_TRY(const double number, value.number());
  if (!compare::is_comparable(number)) return value.error("expected a number from 1e-30 to 1e30");
  return number;
}

/// Of two such numbers.
Result<double> quotient(const JsonView& value) {
  WEFT_TRY(const double number, value.number());
  if (!(number > 0 && number <= 1e61)) return value.error("expected a number above 0, 1e61 at most");
  return number;
}

Result<double> measured_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  return measured(member);
}

Result<std::size_t> count_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  return member.count<std::size_t>();
}

Result<bool> flag_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  return member.boolean();
}

/// Empty, where the object has no such member.
template <class T, class ReadItem>
Result<std::vector<T>> items_of(const JsonView& object, std::string_view key, ReadItem read_item) {
  const auto member = object.find(key);
  if (!member) return std::vector<T>();
  return files::read_array<T>(*member, read_item);
}

Result<std::vector<std::string>> texts_of(const JsonView& object, std::string_view key) {
  const auto member = object.find(key);
  if (!member) return std::vector<std::string>();
  return files::read_texts(*member);
}

/// Of a member that must be there.
template <class T, class ReadItem>
Result<std::vector<T>> need_items(const JsonView& object, std::string_view key, ReadItem read_item) {
  WEFT_TRY(const JsonView member, object.need(key));
  return files::read_array<T>(member, read_item);
}

Result<std::vector<std::string>> need_texts(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  return files::read_texts(member);
}

/// What is computed anew, and must be there all the same.
Result<void> check_members(const JsonView& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto member = object.need(key); !member) return pass_on(member);
  return {};
}

Result<Cell> read_cell(const JsonView& view) {
  Cell cell;
  WEFT_TRY(cell.work, texts_of(view, "work_parts"));
  if (cell.work.empty()) {
    WEFT_TRY(auto work, text_at(view, "work"));
    cell.work.push_back(std::move(work));
  }
  WEFT_TRY(const JsonView size, view.need("size_bytes"));
  WEFT_TRY(const auto bytes, size.count<std::size_t>());
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    return size.error("expected fewer bytes");
  cell.size = Bytes(static_cast<std::int64_t>(bytes));
  WEFT_TRY(cell.metric, word_at(view, "metric", kMetrics));
  return cell;
}

/// The side, and its values in the cells of its runs.
Result<compare::Side> read_side(const JsonView& view, const Cell& cell, std::vector<compare::Run>& runs) {
  compare::Side side;
  WEFT_TRY(side.mean, measured_at(view, "mean"));
  WEFT_TRY(side.units, count_at(view, "units"));
  WEFT_TRY(const double spread, number_or(view, "spread", 0));
  side.spread = spread + 1;
  const auto values = view.find("values");
  if (!values) return side;
  WEFT_TRY(const auto size, values->size());
  if (size > runs.size()) return values->error("{} values of {} runs", size, runs.size());
  for (std::size_t i = 0; i < size; ++i) {
    const JsonView value = values->at(i);
    if (value.shown() == "null") continue;
    WEFT_TRY(const double number, measured(value));
    runs[i].cells[cell] = {.number = number};
  }
  return side;
}

Result<compare::FittedShare> read_fitted(const JsonView& view) {
  compare::FittedShare one;
  WEFT_TRY(one.share, number_or(view, "share", kInfinite));
  WEFT_TRY(one.low, number_or(view, "low", 0));
  WEFT_TRY(one.high, number_or(view, "high", kInfinite));
  return one;
}

Result<compare::DailyCycle> read_cycle(const JsonView& view) {
  compare::DailyCycle cycle;
  WEFT_TRY(const JsonView swing, view.need("swing"));
  WEFT_TRY(cycle.swing, read_fitted(swing));
  WEFT_TRY(cycle.proven, flag_at(view, "proven"));
  WEFT_TRY(cycle.highest_at, number_at(view, "highest_at"));
  if (!(cycle.highest_at >= 0 && cycle.highest_at <= 24))
    return view.error("highest_at: expected an hour from 0 to 24");
  if (const auto degree = view.find("per_degree")) {
    WEFT_TRY(cycle.per_degree, read_fitted(*degree));
  }
  return cycle;
}

Result<CellResult> read_result(const JsonView& view, ComparisonDocument& document) {
  CellResult result;
  WEFT_TRY_VOID(check_members(view, {"unit", "proven", "advantage"}));
  WEFT_TRY(result.cell, read_cell(view));
  WEFT_TRY(const JsonView a, view.need("a"));
  WEFT_TRY(result.a, read_side(a, result.cell, document.a));
  WEFT_TRY(const JsonView b, view.need("b"));
  WEFT_TRY(result.b, read_side(b, result.cell, document.b));
  WEFT_TRY(const JsonView ratio, view.need("ratio"));
  WEFT_TRY(result.corrected, quotient(ratio));
  if (view.find("p")) {
    compare::CellResult::Test test;
    WEFT_TRY(test.p, number_at(view, "p"));
    WEFT_TRY(test.low, number_or(view, "low", 0));
    WEFT_TRY(test.high, number_or(view, "high", kInfinite));
    WEFT_TRY(test.least_shown, number_or(view, "least_shown", kInfinite));
    result.test = test;
  }
  WEFT_TRY(result.decision, word_at(view, "verdict", kDecisions));
  if (view.find("needed")) {
    WEFT_TRY(result.needed, count_at(view, "needed"));
  }
  WEFT_TRY(result.blocks, items_of<double>(view, "blocks", quotient));
  if (const auto cycle = view.find("cycle")) {
    WEFT_TRY(result.cycle, read_cycle(*cycle));
  }
  return result;
}

Result<compare::Run> read_run(const JsonView& view) {
  compare::Run run;
  WEFT_TRY(run.name, text_at(view, "name"));
  WEFT_TRY(run.wrong_rows, count_at(view, "wrong_rows"));
  WEFT_TRY(run.remarks, need_texts(view, "remarks"));
  return run;
}

Result<compare::NamedPlace> read_named(const JsonView& view) {
  compare::NamedPlace place;
  WEFT_TRY(place.place, text_at(view, "place"));
  WEFT_TRY(const auto cause, text_at(view, "cause"));
  const auto known = parse_cause(cause);
  if (!known) return view.error("cause: '{}' is none", cause);
  place.cause = *known;
  WEFT_TRY(place.runs, count_at(view, "runs"));
  WEFT_TRY(place.channels, texts_of(view, "channels"));
  if (view.find("one_of")) {
    WEFT_TRY(place.is_one_of, flag_at(view, "one_of"));
  }
  if (const auto value = view.find("value")) {
    WEFT_TRY(place.value, value->number());
    // A delay is told in whole nanoseconds.
    if (!(*place.value >= -1e9 && *place.value <= 1e9)) return value->error("expected at most 1e9");
  }
  return place;
}

Result<compare::SlowPlace> read_slow(const JsonView& view) {
  compare::SlowPlace place;
  WEFT_TRY(place.what, text_at(view, "what"));
  WEFT_TRY(place.ratio, measured_at(view, "ratio"));
  return place;
}

Result<compare::CongestionCount> read_count(const JsonView& view) {
  compare::CongestionCount count;
  WEFT_TRY(count.counter, text_at(view, "counter"));
  WEFT_TRY(count.a, number_at(view, "a"));
  WEFT_TRY(count.b, number_at(view, "b"));
  WEFT_TRY(count.differs, flag_at(view, "proven"));
  return count;
}

Result<compare::LayerShare> read_layer(const JsonView& view) {
  compare::LayerShare share;
  WEFT_TRY(share.layer, word_at(view, "layer", kLayers));
  WEFT_TRY(share.share, number_or(view, "share", 0));
  if (view.find("low") && view.find("high")) {
    WEFT_TRY(const double low, number_at(view, "low"));
    WEFT_TRY(const double high, number_at(view, "high"));
    share.interval = {low, high};
  }
  WEFT_TRY(share.places, need_texts(view, "places"));
  return share;
}

/// Cells by their names, in which reasons name them.
using CellsByName = std::map<std::string, Cell>;

Result<compare::Reasons> read_reasons(const JsonView& view, const CellsByName& cells) {
  compare::Reasons reasons;
  WEFT_TRY(const auto name, text_at(view, "cell"));
  const auto cell = cells.find(name);
  if (cell == cells.end()) return view.error("cell: there is no cell '{}'", name);
  reasons.cell = cell->second;
  WEFT_TRY(reasons.layers, need_items<compare::LayerShare>(view, "layers", read_layer));
  if (reasons.layers.size() > kLayers.size())
    return view.error("layers: expected {} at most", kLayers.size());
  WEFT_TRY(reasons.joint, number_or(view, "joint", 0));
  WEFT_TRY(reasons.unexplained, number_or(view, "unexplained", 0));
  if (const auto asked = view.find("asked")) {
    WEFT_TRY(const double a, measured_at(*asked, "a"));
    WEFT_TRY(const double b, measured_at(*asked, "b"));
    reasons.asked = {a, b};
  }
  return reasons;
}

Result<compare::MeasuredFabric> read_measured(const JsonView& view) {
  compare::MeasuredFabric fabric;
  WEFT_TRY(fabric.fabric, text_at(view, "fabric"));
  WEFT_TRY(fabric.crossed, need_texts(view, "crossed"));
  WEFT_TRY(fabric.unknown, need_texts(view, "unknown"));
  WEFT_TRY(fabric.loads, need_items<compare::ChannelLoad>(
                             view, "loads", [](const JsonView& one) -> Result<compare::ChannelLoad> {
                               WEFT_TRY(auto channel, text_at(one, "channel"));
                               WEFT_TRY(const double load, measured_at(one, "load"));
                               return compare::ChannelLoad{std::move(channel), load};
                             }));
  WEFT_TRY(fabric.queues, need_items<compare::QueuedPlace>(
                              view, "queues", [](const JsonView& one) -> Result<compare::QueuedPlace> {
                                WEFT_TRY(auto place, text_at(one, "place"));
                                WEFT_TRY(const double wait, number_at(one, "wait_s"));
                                if (!(wait >= 0 && wait <= 1e9))
                                  return one.error("wait_s: expected from 0 to 1e9");
                                WEFT_TRY(auto channels, need_texts(one, "channels"));
                                return compare::QueuedPlace{std::move(place), wait, std::move(channels)};
                              }));
  return fabric;
}

Result<ComparedFabrics> read_fabrics(const JsonView& root, const JsonView& names,
                                     const ComparisonDocument& document) {
  ComparedFabrics fabrics;
  fabrics.runs = document.a.size();
  WEFT_TRY(fabrics.a, text_at(names, "a"));
  WEFT_TRY(fabrics.b, text_at(names, "b"));
  WEFT_TRY(fabrics.named_a, items_of<compare::NamedPlace>(root, "named_a", read_named));
  WEFT_TRY(fabrics.named_b, items_of<compare::NamedPlace>(root, "named_b", read_named));
  WEFT_TRY(fabrics.slow_a, items_of<compare::SlowPlace>(root, "slow_a", read_slow));
  WEFT_TRY(fabrics.slow_b, items_of<compare::SlowPlace>(root, "slow_b", read_slow));
  WEFT_TRY(fabrics.congestion, items_of<compare::CongestionCount>(root, "congestion", read_count));
  WEFT_TRY(fabrics.not_told, texts_of(root, "not_told"));
  WEFT_TRY(fabrics.impossible, texts_of(root, "impossible"));
  CellsByName cells;
  for (const CellResult& result : document.comparison.cells)
    cells.try_emplace(cell_name(result.cell), result.cell);
  WEFT_TRY(fabrics.reasons, items_of<compare::Reasons>(root, "reasons", [&](const JsonView& one) {
             return read_reasons(one, cells);
           }));
  if (fabrics.reasons.size() > cells.size()) return root.error("reasons: there are more than cells");
  if (const auto measured = root.find("measured_a")) {
    WEFT_TRY(fabrics.measured_a, read_measured(*measured));
  }
  if (const auto measured = root.find("measured_b")) {
    WEFT_TRY(fabrics.measured_b, read_measured(*measured));
  }
  return fabrics;
}

Result<compare::Losses> read_losses(const JsonView& root, std::string_view missing,
                                    std::string_view incomplete, std::span<const compare::Run> runs) {
  compare::Losses losses;
  WEFT_TRY(losses.missing, need_items<Cell>(root, missing, read_cell));
  WEFT_TRY(losses.incomplete_runs, count_at(root, incomplete));
  for (const compare::Run& run : runs) losses.wrong_rows += run.wrong_rows;
  return losses;
}

Result<compare::Settings> read_settings(const JsonView& root) {
  compare::Settings settings;
  WEFT_TRY(settings.margin, measured_at(root, "margin"));
  WEFT_TRY(const auto design, text_at(root, "design"));
  if (design != "runs" && design != "blocks") return root.error("design: expected runs or blocks");
  settings.design = design == "blocks" ? compare::Design::blocks : compare::Design::runs;
  if (root.find("looks")) {
    WEFT_TRY(settings.looks, count_at(root, "looks"));
    if (settings.looks < 1) return root.error("looks: expected one at least");
  }
  return settings;
}

}  // namespace

Result<ComparisonDocument> parse_comparison(std::string_view json, std::string_view name) {
  WEFT_TRY(const auto value, files::parse_json(json, name));
  const JsonView whole(value, name);
  WEFT_TRY(const JsonView root, files::check_schema(whole, "weft.comparison/1"));
  ComparisonDocument document;
  auto& comparison = document.comparison;
  WEFT_TRY(comparison.settings, read_settings(root));
  WEFT_TRY_VOID(check_members(root, {"sentence"}));
  WEFT_TRY(document.a, need_items<compare::Run>(root, "a", read_run));
  WEFT_TRY(document.b, need_items<compare::Run>(root, "b", read_run));
  if (document.a.empty() || document.b.empty()) return root.error("a and b: expected one run at least");
  WEFT_TRY(const JsonView cells, root.need("cells"));
  WEFT_TRY(const auto size, cells.size());
  if (size < 1 || size > kMaxCells) return cells.error("expected 1 to {} cells", kMaxCells);
  WEFT_TRY(comparison.cells, files::read_array<CellResult>(
                                 cells, [&](const JsonView& cell) { return read_result(cell, document); }));
  WEFT_TRY(comparison.a, read_losses(root, "only_b", "incomplete_runs_a", document.a));
  WEFT_TRY(comparison.b, read_losses(root, "only_a", "incomplete_runs_b", document.b));
  WEFT_TRY(comparison.remarks, need_texts(root, "remarks"));
  WEFT_TRY(const auto verdict, word_at(root, "verdict", kDecisions));
  if (verdict != comparison.decision())
    return root.error("verdict: it says {}, and its cells and runs say {}", to_string(verdict),
                      to_string(comparison.decision()));
  if (const auto names = root.find("fabrics")) {
    WEFT_TRY(document.fabrics, read_fabrics(root, *names, document));
  }
  WEFT_TRY(const auto version, text_at(root, "tool_version"));
  WEFT_TRY(const auto time, text_at(root, "generated_at"));
  document.made = fmt::format("weft {}, {}", version, time);
  return document;
}

}  // namespace weft::report
