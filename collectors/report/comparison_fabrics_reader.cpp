// What a document of a comparison tells of the fabrics, read.
#include <map>

#include "collectors/report/comparison_members.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::Layer;
using files::JsonView;

constexpr std::array kLayers{Layer::hosts,     Layer::cables,     Layer::traffic,
                             Layer::losses,    Layer::collisions, Layer::oversubscription,
                             Layer::line_rate, Layer::hops,       Layer::queueing,
                             Layer::pauses};

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

/// A cell without work_parts, of an older weft, has none between the parts of its name; reasons have.
std::string without_commas(std::string name) {
  std::erase(name, ',');
  return name;
}

/// Cells by their names without commas: reasons name them so.
using CellsByName = std::map<std::string, Cell>;

Result<compare::Reasons> read_reasons(const JsonView& view, const CellsByName& cells) {
  compare::Reasons reasons;
  WEFT_TRY(const auto name, text_at(view, "cell"));
  const auto cell = cells.find(without_commas(name));
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

}  // namespace

Result<ComparedFabrics> read_fabrics(const JsonView& root, const JsonView& names,
                                     std::span<const compare::CellResult> cells) {
  ComparedFabrics fabrics;
  WEFT_TRY(fabrics.a, text_at(names, "a"));
  WEFT_TRY(fabrics.b, text_at(names, "b"));
  WEFT_TRY(fabrics.named_a, items_of<compare::NamedPlace>(root, "named_a", read_named));
  WEFT_TRY(fabrics.named_b, items_of<compare::NamedPlace>(root, "named_b", read_named));
  WEFT_TRY(fabrics.slow_a, items_of<compare::SlowPlace>(root, "slow_a", read_slow));
  WEFT_TRY(fabrics.slow_b, items_of<compare::SlowPlace>(root, "slow_b", read_slow));
  WEFT_TRY(fabrics.congestion, items_of<compare::CongestionCount>(root, "congestion", read_count));
  WEFT_TRY(fabrics.not_told, texts_of(root, "not_told"));
  WEFT_TRY(fabrics.impossible, texts_of(root, "impossible"));
  if (const auto reasons = root.find("reasons")) {
    WEFT_TRY(const auto size, reasons->size());
    if (size > cells.size()) return reasons->error("{} of {} cells", size, cells.size());
    CellsByName by_name;
    for (const compare::CellResult& result : cells)
      by_name.try_emplace(without_commas(cell_name(result.cell)), result.cell);
    WEFT_TRY(fabrics.reasons, files::read_array<compare::Reasons>(
                                  *reasons, [&](const JsonView& one) { return read_reasons(one, by_name); }));
  }
  if (const auto measured = root.find("measured_a")) {
    WEFT_TRY(fabrics.measured_a, read_measured(*measured));
  }
  if (const auto measured = root.find("measured_b")) {
    WEFT_TRY(fabrics.measured_b, read_measured(*measured));
  }
  return fabrics;
}

}  // namespace weft::report
