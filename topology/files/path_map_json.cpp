#include "topology/files/path_map_json.hpp"

#include <algorithm>
#include <unordered_set>

#include "topology/files/finding_fields.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

constexpr std::string_view kSchema = "weft.pathmap/1";

const auto as_field = as_word(&parse_packet_field, "a field of a packet, as queue_pair");
const auto as_moves = as_word(&parse_moves_path, "yes, no or unknown");

void put_path(JsonText& out, const Fabric& fabric, const PathMap& map, const LabelledPath& labelled) {
  put(out, "{{\"path\":");
  put_array(out, map.table.channels(labelled.path),
            [&](ChannelId channel) { put(out, "\"{}\"", fabric.name_of(channel)); });
  put(out, ",\"labels\":");
  put_array(out, labelled.labels, [&](PathLabel label) { put(out, "{}", label.value()); });
  put(out, "}}");
}

void put_pair(JsonText& out, const Fabric& fabric, const PathMap& map, const PairPaths& pair) {
  put(out, "\n{{\"src\":\"{}\",\"dst\":\"{}\",\"paths\":", fabric.name_of_nic(pair.src),
      fabric.name_of_nic(pair.dst));
  put_array(out, pair.paths, [&](const LabelledPath& path) { put_path(out, fabric, map, path); });
  put(out, "}}");
}

void put_fields(JsonText& out, const Fabric& fabric, const FieldFindings& fields) {
  put(out, ",\"fields\":{{\"src\":\"{}\",\"dst\":\"{}\",\"repeats\":{},\"repeats_moved\":{},\"tried\":",
      fabric.name_of_nic(fields.src), fabric.name_of_nic(fields.dst), fields.repeats, fields.repeats_moved);
  put_array(out, fields.fields, [&](const FieldFinding& finding) {
    put(out,
        "\n{{\"field\":\"{}\",\"moves\":\"{}\",\"values\":{},\"moved\":{},\"at\":", to_string(finding.field),
        to_string(finding.moves), finding.values, finding.moved);
    put_array(out, finding.at, [&](NodeId node) { put(out, "\"{}\"", fabric.name_of(node)); });
    put(out, "}}");
  });
  put(out, "}}");
}

class PathMapReader {
 public:
  explicit PathMapReader(const Fabric& fabric) : fabric_(fabric) {}

  Result<PathMapDocument> read(const JsonView& root) && {
    WEFT_TRY_VOID(check_schema(root, kSchema));
    WEFT_TRY(const auto list, root.need("pairs"));
    WEFT_TRY(auto pairs,
             read_array<PairPaths>(list, [this](const JsonView& pair) { return read_pair(pair); }));
    map_.pairs = std::move(pairs);
    PathMapDocument document{std::move(map_)};
    if (const auto fields = root.find("fields")) {
      WEFT_TRY(document.fields, read_fields(*fields));
    }
    return document;
  }

 private:
  Result<PortId> read_nic(const JsonView& pair, std::string_view key) const {
    WEFT_TRY(const auto member, pair.need(key));
    WEFT_TRY(const auto name, member.text());
    const auto nic = fabric_.find_nic(name);
    if (!nic) return member.error("{}", nic.error().message);
    return *nic;
  }

  Result<FieldFindings> read_fields(const JsonView& view) const {
    FieldFindings fields;
    WEFT_TRY(fields.src, read_nic(view, "src"));
    WEFT_TRY(fields.dst, read_nic(view, "dst"));
    WEFT_TRY_VOID(
        in_turn([&] { return need_member(view, "repeats", fields.repeats, as_count); },
                [&] { return need_member(view, "repeats_moved", fields.repeats_moved, as_count); }));
    WEFT_TRY(const auto list, view.need("tried"));
    WEFT_TRY(fields.fields,
             read_array<FieldFinding>(list, [this](const JsonView& tried) { return read_field(tried); }));
    return fields;
  }

  Result<FieldFinding> read_field(const JsonView& view) const {
    FieldFinding finding;
    WEFT_TRY_VOID(in_turn([&] { return need_member(view, "field", finding.field, as_field); },
                          [&] { return need_member(view, "moves", finding.moves, as_moves); },
                          [&] { return need_member(view, "values", finding.values, as_count); },
                          [&] { return need_member(view, "moved", finding.moved, as_count); }));
    if (finding.moved > finding.values)
      return view.error("{} of {} values moved the path", finding.moved, finding.values);
    WEFT_TRY(const auto list, view.need("at"));
    WEFT_TRY(finding.at, read_array<NodeId>(list, [this](const JsonView& name) -> Result<NodeId> {
               WEFT_TRY(const auto text, name.text());
               const auto node = fabric_.find_node(text);
               if (!node) return name.error("no node is called {}", text);
               return *node;
             }));
    return finding;
  }

  Result<PairPaths> read_pair(const JsonView& view) {
    WEFT_TRY(const auto src, read_nic(view, "src"));
    WEFT_TRY(const auto dst, read_nic(view, "dst"));
    if (!pairs_.insert(std::uint64_t{src.value()} << 32 | dst.value()).second)
      return view.error("the pair {} to {} stands twice", fabric_.name_of_nic(src), fabric_.name_of_nic(dst));
    WEFT_TRY(const auto list, view.need("paths"));
    auto paths =
        read_array<LabelledPath>(list, [&](const JsonView& path) { return read_path(path, src, dst); });
    if (!paths) return pass_on(paths);
    return PairPaths{src, dst, std::move(*paths)};
  }

  bool leads(const std::vector<ChannelId>& channels, PortId src, PortId dst) const {
    if (channels.empty()) return src == dst;
    for (std::size_t i = 1; i < channels.size(); ++i)
      if (fabric_.source_node(channels[i]) != fabric_.target_node(channels[i - 1])) return false;
    return fabric_.source(channels.front()) == src && fabric_.target(channels.back()) == dst;
  }

  Result<LabelledPath> read_path(const JsonView& view, PortId src, PortId dst) {
    WEFT_TRY(const auto list, view.need("path"));
    const auto channels = read_array<ChannelId>(
        list, [this](const JsonView& channel) { return read_channel(fabric_, channel); });
    if (!channels) return pass_on(channels);
    if (!leads(*channels, src, dst))
      return list.error("the path does not lead from {} to {}", fabric_.name_of_nic(src),
                        fabric_.name_of_nic(dst));
    WEFT_TRY(const auto numbers, view.need("labels"));
    auto labels =
        read_array<PathLabel>(numbers, [](const JsonView& label) { return label.count<std::uint32_t>(); });
    if (!labels) return pass_on(labels);
    std::ranges::sort(*labels);
    if (std::ranges::adjacent_find(*labels) != labels->end()) return numbers.error("a label stands twice");
    return LabelledPath{map_.table.intern(*channels), std::move(*labels)};
  }

  const Fabric& fabric_;
  PathMap map_;
  std::unordered_set<std::uint64_t> pairs_;
};

}  // namespace

std::string path_map_json(const Fabric& fabric, const PathMap& map, const DocumentStamp& stamp,
                          const PredictedPaths* predicted, const FieldFindings* fields) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, kSchema, stamp);
  put(out, ",\"fabric\":");
  put_string(out, fabric.name());
  put(out, ",\"pairs\":");
  put_array(out, map.pairs, [&](const PairPaths& pair) { put_pair(out, fabric, map, pair); });
  if (predicted) {
    put(out, ",\"predicted\":{{\"confidence\":{:.6f},\"pairs\":", predicted->confidence);
    put_array(out, predicted->map.pairs,
              [&](const PairPaths& pair) { put_pair(out, fabric, predicted->map, pair); });
    put(out, "}}");
  }
  if (fields) put_fields(out, fabric, *fields);
  put(out, "}}\n");
  return fmt::to_string(out);
}

Result<PathMapDocument> parse_path_map_document(const Fabric& fabric, std::string_view text,
                                                std::string_view what) {
  WEFT_TRY(const auto json, parse_json(text, what));
  return PathMapReader(fabric).read(JsonView(json, what));
}

Result<PathMap> parse_path_map(const Fabric& fabric, std::string_view text, std::string_view what) {
  WEFT_TRY(auto document, parse_path_map_document(fabric, text, what));
  return std::move(document.map);
}

}  // namespace weft::files
