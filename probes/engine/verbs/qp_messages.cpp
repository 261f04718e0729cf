#include "probes/engine/verbs/qp_messages.hpp"

#include <algorithm>
#include <array>

#include "topology/base/json_members.hpp"

namespace weft::json_members {

namespace {

constexpr std::uint32_t kMax24Bits = 0xFFFFFF;
constexpr std::array kKinds{std::pair("rc", rdma::QpKind::reliable),
                            std::pair("uc", rdma::QpKind::unreliable),
                            std::pair("ud", rdma::QpKind::datagram)};

/// One that an agent may make: 0 and 1 are those of management, the last stands for groups (IBTA vol.
/// 1, 10.3.2). Queue pair numbers and sequence numbers have 24 bits (9.2).
template <class Io>
void number_and_psn(Io& io, QpNum& qp, std::uint32_t& first_psn) {
  io("qp", qp);
  io("psn", first_psn);
  if (!Io::kReads) return;
  if (qp.value() < 2 || qp.value() >= kMax24Bits)
    throw BadField(fmt::format("{} is the number of no queue pair of an agent", qp.value()));
  if (first_psn > kMax24Bits) throw BadField(fmt::format("{} is no number of 24 bits", first_psn));
}

template <class Io>
void size(Io& io, const char* name, Bytes& bytes) {
  io(name, bytes);
  if (Io::kReads && bytes > Bytes(1 << 30)) throw BadField(fmt::format("a size of {} bytes", bytes.count()));
}

}  // namespace

static Json write_json(OneValue, rdma::QpKind kind) {
  return std::ranges::find(kKinds, kind, [](const auto& k) { return k.second; })->first;
}
static void read_json(OneValue, const Json& from, rdma::QpKind& into) {
  const auto kind = std::ranges::find(kKinds, text(from), [](const auto& k) { return k.first; });
  if (kind == kKinds.end()) throw BadField(quoted(from) + " is no kind of queue pair");
  into = kind->second;
}

template <class Io>
static void members(Io& io, rdma::PortAddress& m) {
  std::vector<std::uint8_t> gid(m.gid.begin(), m.gid.end());
  io("gid", gid);
  if (gid.size() != m.gid.size()) throw BadField("a GID has 16 bytes");
  std::ranges::copy(gid, m.gid.begin());
  io("lid", m.lid);
  io("lmc", m.lmc);
}
template <class Io>
static void members(Io& io, rdma::ReadLimits& m) {
  io("asks", m.asks);
  io("serves", m.serves);
}

}  // namespace weft::json_members

namespace weft::verbs {

using namespace json_members;

namespace {

constexpr const char* kWhat = "a peer's message about queue pairs";
/// Of kMaxGroupQps queue pairs, eight values each.
constexpr JsonLimits kLimits{.bytes = 4'000'000, .depth = 4, .values = 8 * kMaxGroupQps + 100};

}  // namespace

template <class Io>
static void members(Io& io, OfferedQp& m) {
  io("spec", m.spec);
  number_and_psn(io, m.qp, m.first_psn);
  io("back_label", m.back_label);
  io("label", m.label);
}
template <class Io>
static void members(Io& io, ConnectQps& m) {
  io("batch", m.batch);
  io("kind", m.kind);
  word(io, "operation", m.operation, parse_flow_operation);
  io("busy", m.busy_poll);
  io("from", m.from);
  size(io, "mtu", m.mtu);
  size(io, "message", m.message);
  io("depth", m.depth);
  io("reads", m.reads);
  io("qps", table(m.qps, kMaxGroupQps));
  io("queue_key", m.queue_key);
}
template <class Io>
static void members(Io& io, MatchingQp& m) {
  number_and_psn(io, m.qp, m.first_psn);
}
template <class Io>
static void members(Io& io, QpsConnected& m) {
  io("from", m.from);
  io("memory", m.memory);
  io("key", m.memory_key);
  io("qps", table(m.qps, kMaxGroupQps));
  io("stamps", m.stamps);
  io("reads", m.reads);
  io("queue_key", m.queue_key);
}
template <class Io>
static void members(Io& io, FlowMoved& m) {
  io("spec", m.spec);
  io("messages", m.messages);
  io("packets", m.packets);
  io("bytes", m.bytes);
  io("elapsed", m.elapsed);
}
template <class Io>
static void members(Io& io, CloseQps& m) {
  io("batch", m.batch);
  io("moved", table(m.moved, kMaxGroupQps));
}

/// In the order of QpQuestion.
constexpr const char* kQuestions[] = {"connect", "close"};
static_assert(std::size(kQuestions) == std::variant_size_v<QpQuestion>);

static void read_json(OneValue, const Json& from, QpQuestion& into) {
  into = read_kind<QpQuestion>(kQuestions, text(field(from, "do")), [&](auto& m) { read_value(from, m); });
}

std::string encode(const QpQuestion& question) {
  Json json = std::visit([](const auto& m) { return write_value(m); }, question);
  json["do"] = kQuestions[question.index()];
  return to_text(json);
}
std::string encode(const QpsConnected& answer) { return to_text(write_value(answer)); }
std::string encode_differing(const std::vector<std::uint32_t>& specs) { return to_text(write_value(specs)); }

Result<std::vector<std::uint32_t>> decode_differing(std::string_view text) {
  WEFT_TRY(auto specs, read_text<std::vector<std::uint32_t>>(text, kLimits, kWhat));
  if (specs.size() > kMaxGroupQps) return fail(ErrorKind::invalid_input, "{}: too many specs", kWhat);
  return specs;
}
Result<QpQuestion> decode_qp_question(std::string_view text) {
  return read_text<QpQuestion>(text, kLimits, kWhat);
}
Result<QpsConnected> decode_qps_connected(std::string_view text) {
  return read_text<QpsConnected>(text, kLimits, kWhat);
}

}  // namespace weft::verbs
