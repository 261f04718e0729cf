#include "probes/session/flow_json.hpp"

namespace weft {

using namespace json_fields;

namespace {

std::optional<Bytes> bytes_from(const Json& value, std::uint64_t most) {
  if (value.is_null()) return std::nullopt;
  const auto count = whole<std::uint64_t>(value);
  if (count == 0 || count > most) throw BadField(fmt::format("{} bytes of a flow", count));
  return Bytes(static_cast<std::int64_t>(count));
}

}  // namespace

Json flow_options_json(const FlowOptions& m) {
  return {{"operation", to_string(m.operation)},
          {"message", m.message ? Json(m.message->count()) : Json()},
          {"depth", m.depth},
          {"warm_up", m.warm_up.count()},
          {"volume", m.volume ? Json(m.volume->count()) : Json()}};
}

FlowOptions flow_options_from(const Json& v) {
  const auto operation = parse_flow_operation(text(field(v, "operation")));
  if (!operation) throw BadField("no operation of queue pairs");
  FlowOptions m{.operation = *operation,
                .message = bytes_from(field(v, "message"), kMaxFlowMessageBytes),
                .depth = whole<std::uint32_t>(field(v, "depth")),
                .warm_up = time(field(v, "warm_up")),
                .volume = bytes_from(field(v, "volume"), kMaxVolume)};
  if (m.depth == 0 || m.depth > kDeepestFlow) throw BadField(fmt::format("a flow of depth {}", m.depth));
  return m;
}

Json measure_json(const FlowMeasure& m) {
  return {{"packets", m.packets},
          {"bytes", m.bytes},
          {"messages", rows(m.messages.buckets(), [](const LatencyHistogram::Bucket& b) {
             return Json::array({b.index, b.count});
           })}};
}

FlowMeasure measure_from(const Json& v) {
  const auto buckets = list<LatencyHistogram::Bucket>(field(v, "messages"), [](const Json& row) {
    return LatencyHistogram::Bucket{whole<std::uint32_t>(element(row, 0)),
                                    whole<std::uint64_t>(element(row, 1))};
  });
  auto messages = LatencyHistogram::from(buckets);
  if (!messages) throw BadField(messages.error().message);
  return {whole<std::uint64_t>(field(v, "packets")), whole<std::uint64_t>(field(v, "bytes")),
          std::move(*messages)};
}

}  // namespace weft
