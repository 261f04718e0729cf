#include "probes/engine/verbs/qp_messages.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "topology/base/json_limits.hpp"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMax24Bits = 0xFFFFFF;
/// Of kMaxGroupQps queue pairs, eight values each.
constexpr JsonLimits kLimits{.bytes = 4'000'000, .depth = 4, .values = 8 * kMaxGroupQps + 100};

json to_json(const PortAddress& address) {
  return {{"gid", address.gid}, {"lid", address.lid.value()}, {"lmc", address.lmc}};
}
json to_json(const std::optional<PathLabel>& label) { return label ? json(label->value()) : json(); }

json to_json(const ReadLimits& reads) { return {{"asks", reads.asks}, {"serves", reads.serves}}; }

constexpr std::array kKinds{std::pair("rc", QpKind::reliable), std::pair("uc", QpKind::unreliable),
                            std::pair("ud", QpKind::datagram)};

json to_json(QpKind kind) {
  return std::ranges::find(kKinds, kind, [](const auto& k) { return k.second; })->first;
}

json to_json(const ConnectQps& m) {
  json qps = json::array();
  for (const OfferedQp& qp : m.qps) {
    qps.push_back({qp.spec, qp.qp.value(), qp.first_psn, to_json(qp.back_label), to_json(qp.label)});
  }
  return {{"do", "connect"},         {"batch", m.batch.value()},
          {"kind", to_json(m.kind)}, {"operation", to_string(m.operation)},
          {"busy", m.busy_poll},     {"from", to_json(m.from)},
          {"mtu", m.mtu.count()},    {"message", m.message.count()},
          {"depth", m.depth},        {"reads", to_json(m.reads)},
          {"qps", std::move(qps)},   {"queue_key", m.queue_key}};
}

json to_json(const CloseQps& m) {
  json moved = json::array();
  for (const FlowMoved& flow : m.moved)
    moved.push_back({flow.spec, flow.messages, flow.packets, flow.bytes, flow.elapsed.count()});
  return {{"do", "close"}, {"batch", m.batch.value()}, {"moved", std::move(moved)}};
}

/// A whole number that fits: what does not is refused, never cut.
template <class T>
T whole(const json& in) {
  if (!in.is_number_unsigned() || in.get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw json::other_error::create(501, "not a whole number of the size it should have", &in);
  return static_cast<T>(in.get<std::uint64_t>());
}

/// Queue pair numbers and sequence numbers have 24 bits (IBTA vol. 1, 9.2).
std::uint32_t of_24_bits(const json& in) {
  const auto number = whole<std::uint32_t>(in);
  if (number > kMax24Bits) throw json::other_error::create(501, "not a number of 24 bits", &in);
  return number;
}

/// One that an agent may make: 0 and 1 are those of management, the last stands for groups (10.3.2).
QpNum qp_from(const json& in) {
  const auto number = of_24_bits(in);
  if (number < 2 || number == kMax24Bits)
    throw json::other_error::create(501, "the number of no queue pair of an agent", &in);
  return QpNum(number);
}

template <class T>
std::vector<T> wholes(const json& in) {
  std::vector<T> all;
  for (const json& one : in) all.push_back(whole<T>(one));
  return all;
}

PortAddress address_from(const json& in) {
  const auto bytes = wholes<std::uint8_t>(in.at("gid"));
  PortAddress address{{}, Lid(whole<std::uint16_t>(in.at("lid"))), whole<std::uint8_t>(in.at("lmc"))};
  if (bytes.size() != address.gid.size()) throw json::other_error::create(501, "a GID has 16 bytes", &in);
  std::ranges::copy(bytes, address.gid.begin());
  return address;
}

ReadLimits reads_from(const json& in) {
  return {whole<std::uint8_t>(in.at("asks")), whole<std::uint8_t>(in.at("serves"))};
}

std::optional<PathLabel> label_from(const json& in) {
  return in.is_null() ? std::nullopt : std::optional(PathLabel(whole<std::uint32_t>(in)));
}

const json& list_of(const json& in, const char* name) {
  const json& list = in.at(name);
  if (!list.is_array() || list.size() > kMaxGroupQps)
    throw json::other_error::create(501, "too many queue pairs", &in);
  return list;
}

Bytes size_from(const json& in) {
  constexpr std::uint32_t kMax = 1U << 30U;
  const auto bytes = whole<std::uint32_t>(in);
  if (bytes > kMax) throw json::other_error::create(501, "a size that makes no sense", &in);
  return Bytes(bytes);
}

Nanoseconds time_from(const json& in) {
  const auto count = whole<std::uint64_t>(in);
  if (count > static_cast<std::uint64_t>(Nanoseconds::max().count()))
    throw json::other_error::create(501, "a time that makes no sense", &in);
  return Nanoseconds(static_cast<std::int64_t>(count));
}

FlowOperation operation_from(const json& in) {
  const auto operation = parse_flow_operation(in.get_ref<const std::string&>());
  if (!operation) throw json::other_error::create(501, "an unknown operation", &in);
  return *operation;
}

QpKind kind_from(const json& in) {
  const auto& text = in.get_ref<const std::string&>();
  const auto kind = std::ranges::find(kKinds, text, [](const auto& k) { return k.first; });
  if (kind == kKinds.end()) throw json::other_error::create(501, "an unknown kind of queue pair", &in);
  return kind->second;
}

ConnectQps connect_from(const json& in) {
  ConnectQps m{.batch = BatchId(whole<std::uint32_t>(in.at("batch"))),
               .kind = kind_from(in.at("kind")),
               .operation = operation_from(in.at("operation")),
               .busy_poll = in.at("busy").get<bool>(),
               .from = address_from(in.at("from")),
               .mtu = size_from(in.at("mtu")),
               .message = size_from(in.at("message")),
               .depth = whole<std::uint32_t>(in.at("depth")),
               .reads = reads_from(in.at("reads")),
               .qps = {},
               .queue_key = whole<std::uint32_t>(in.at("queue_key"))};
  for (const json& qp : list_of(in, "qps")) {
    m.qps.push_back({whole<std::uint32_t>(qp.at(0)), qp_from(qp.at(1)), of_24_bits(qp.at(2)),
                     label_from(qp.at(3)), label_from(qp.at(4))});
  }
  return m;
}

CloseQps close_from(const json& in) {
  CloseQps m{.batch = BatchId(whole<std::uint32_t>(in.at("batch")))};
  for (const json& flow : list_of(in, "moved"))
    m.moved.push_back({whole<std::uint32_t>(flow.at(0)), whole<std::uint64_t>(flow.at(1)),
                       whole<std::uint64_t>(flow.at(2)), whole<std::uint64_t>(flow.at(3)),
                       time_from(flow.at(4))});
  return m;
}

template <class T, class Read>
Result<T> read_with(std::string_view text, Read read) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  try {
    return T(read(json::parse(text)));
  } catch (const json::exception& error) {
    return fail(ErrorKind::invalid_input, "a peer's message about queue pairs does not fit: {}",
                error.what());
  }
}

}  // namespace

std::string encode(const QpQuestion& question) {
  return std::visit([](const auto& m) { return to_json(m).dump(); }, question);
}

std::string encode(const QpsConnected& m) {
  json qps = json::array();
  for (const MatchingQp& qp : m.qps) qps.push_back({qp.qp.value(), qp.first_psn});
  return json{{"from", to_json(m.from)}, {"memory", m.memory}, {"key", m.memory_key},
              {"qps", std::move(qps)},   {"stamps", m.stamps}, {"reads", to_json(m.reads)},
              {"queue_key", m.queue_key}}
      .dump();
}

std::string encode_differing(const std::vector<std::uint32_t>& specs) {
  return json{{"differing", specs}}.dump();
}

Result<std::vector<std::uint32_t>> decode_differing(std::string_view text) {
  return read_with<std::vector<std::uint32_t>>(
      text, [](const json& in) { return wholes<std::uint32_t>(list_of(in, "differing")); });
}

Result<QpQuestion> decode_qp_question(std::string_view text) {
  return read_with<QpQuestion>(text, [](const json& in) -> QpQuestion {
    if (in.at("do") == "connect") return connect_from(in);
    if (in.at("do") == "close") return close_from(in);
    throw json::other_error::create(501, "an unknown question", &in);
  });
}

Result<QpsConnected> decode_qps_connected(std::string_view text) {
  return read_with<QpsConnected>(text, [](const json& in) {
    QpsConnected m{.from = address_from(in.at("from")),
                   .memory = whole<std::uint64_t>(in.at("memory")),
                   .memory_key = whole<std::uint32_t>(in.at("key")),
                   .qps = {},
                   .stamps = in.at("stamps").get<bool>(),
                   .reads = reads_from(in.at("reads")),
                   .queue_key = whole<std::uint32_t>(in.at("queue_key"))};
    for (const json& qp : list_of(in, "qps")) m.qps.push_back({qp_from(qp.at(0)), of_24_bits(qp.at(1))});
    return m;
  });
}

}  // namespace weft
