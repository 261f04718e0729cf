#include "collectors/nccl/qp_table.hpp"

#include <nlohmann/json.hpp>

#include "topology/base/json_limits.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::nccl {
namespace {

using files::JsonView;

constexpr std::string_view kSchema = "weft.qps/1";
// 100,000 QPs of a host, with all members and paths of six channels.
constexpr JsonLimits kLimits{.bytes = 256'000'000, .depth = 8, .values = 8'000'000};
constexpr std::uint64_t kMaxAge = 4'000'000'000'000'000'000;  // nanoseconds: what 64 bits hold
constexpr std::uint32_t kMaxQpNumber = 0xFFFFFF;

template <std::unsigned_integral T>
Result<std::optional<T>> read_count(const JsonView& object, std::string_view name, T most) {
  const auto view = object.find(name);
  if (!view) return std::optional<T>();
  WEFT_TRY(const T value, view->count<T>());
  if (value > most) return view->error("expected at most {}", most);
  return std::optional<T>(value);
}

Result<std::optional<Nanoseconds>> read_time(const JsonView& object, std::string_view name) {
  WEFT_TRY(const auto count, read_count<std::uint64_t>(object, name, kMaxAge));
  if (!count) return std::optional<Nanoseconds>();
  return std::optional(Nanoseconds(static_cast<std::int64_t>(*count)));
}

/// An IPv4 address within IPv6 (::ffff:a.b.c.d), as GIDs of RoCE have it, is that address.
Result<std::optional<IpAddress>> read_gid(const JsonView& object, std::string_view name) {
  const auto view = object.find(name);
  if (!view) return std::optional<IpAddress>();
  WEFT_TRY(const auto text, view->text());
  const auto address = IpAddress::parse(text);
  if (!address) return view->error("expected a GID, as ::ffff:10.0.1.1, not {}", view->shown());
  const auto& bytes = address->bytes();
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (address->is_v6() && std::equal(kMapped.begin(), kMapped.end(), bytes.begin()))
    return std::optional(IpAddress(IpAddress::V4{bytes[12], bytes[13], bytes[14], bytes[15]}));
  return std::optional(*address);
}

Result<std::string> read_name(const JsonView& object, std::string_view name) {
  const auto view = object.find(name);
  if (!view) return std::string();
  WEFT_TRY(const auto text, view->text());
  return std::string(text);
}

Result<QpRecord> read_qp(const JsonView& view) {
  QpRecord made;
  WEFT_TRY(const auto pid, view.need("pid"));
  WEFT_TRY(made.pid, pid.count<std::uint64_t>());
  WEFT_TRY(made.rank, read_count<Rank>(view, "rank", kMaxRank));
  WEFT_TRY(const auto number, view.need("qpn"));
  WEFT_TRY(const auto qpn, number.count<std::uint32_t>());
  if (qpn > kMaxQpNumber) return number.error("expected at most {}", kMaxQpNumber);
  made.number = QpNum(qpn);
  WEFT_TRY(const auto peer, read_count<std::uint32_t>(view, "peer_qpn", kMaxQpNumber));
  if (peer) made.peer_number = QpNum(*peer);
  WEFT_TRY(made.gid, read_gid(view, "gid"));
  WEFT_TRY(made.peer_gid, read_gid(view, "peer_gid"));
  WEFT_TRY(made.nic, read_name(view, "nic"));
  WEFT_TRY(made.peer_nic, read_name(view, "peer_nic"));
  WEFT_TRY(const auto label, read_count<std::uint32_t>(view, "label", UINT32_MAX));
  if (label) made.label = PathLabel(*label);
  if (const auto path = view.find("path")) {
    WEFT_TRY(made.path, files::read_texts(*path));
  }
  WEFT_TRY(const auto bytes, read_count<std::uint64_t>(view, "bytes", UINT64_MAX));
  WEFT_TRY(const auto outstanding, read_count<std::uint64_t>(view, "outstanding", UINT64_MAX));
  WEFT_TRY(const auto errors, read_count<std::uint64_t>(view, "errors", UINT64_MAX));
  made.bytes = bytes.value_or(0);
  made.outstanding = outstanding.value_or(0);
  made.errors = errors.value_or(0);
  WEFT_TRY(made.oldest, read_time(view, "oldest_ns"));
  WEFT_TRY(made.quiet, read_time(view, "quiet_ns"));
  WEFT_TRY(made.busy, read_time(view, "busy_ns"));
  WEFT_TRY(made.timeout, read_count<std::uint32_t>(view, "timeout", 31));  // 5 bits (IBTA, LocalAckTimeout)
  WEFT_TRY(made.retries, read_count<std::uint32_t>(view, "retries", 7));   // 3 bits
  return made;
}

void put_qp(files::JsonText& out, const QpRecord& qp) {
  const auto put_time = [&](const char* name, const std::optional<Nanoseconds>& time) {
    if (time) files::put(out, R"(,"{}":{})", name, time->count());
  };
  const auto put_name = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    files::put(out, R"(,"{}":)", name);
    files::put_string(out, text);
  };
  files::put(out, R"({{"pid":{})", qp.pid);
  if (qp.rank) files::put(out, R"(,"rank":{})", *qp.rank);
  files::put(out, R"(,"qpn":{})", qp.number.value());
  if (qp.peer_number) files::put(out, R"(,"peer_qpn":{})", qp.peer_number->value());
  if (qp.gid) put_name("gid", to_string(*qp.gid));
  if (qp.peer_gid) put_name("peer_gid", to_string(*qp.peer_gid));
  put_name("nic", qp.nic);
  put_name("peer_nic", qp.peer_nic);
  if (qp.label) files::put(out, R"(,"label":{})", qp.label->value());
  if (!qp.path.empty()) {
    files::put(out, R"(,"path":)");
    files::put_array(out, qp.path, [&](const std::string& channel) { files::put_string(out, channel); });
  }
  files::put(out, R"(,"bytes":{},"outstanding":{},"errors":{})", qp.bytes, qp.outstanding, qp.errors);
  put_time("oldest_ns", qp.oldest);
  put_time("quiet_ns", qp.quiet);
  put_time("busy_ns", qp.busy);
  if (qp.timeout) files::put(out, R"(,"timeout":{})", *qp.timeout);
  if (qp.retries) files::put(out, R"(,"retries":{})", *qp.retries);
  out.push_back('}');
}

}  // namespace

Result<QpTable> parse_qp_table(std::string_view text, std::string_view what) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, files::parse_json(text, what));
  const JsonView document(json, what);
  WEFT_TRY(const auto root, files::check_schema(document, kSchema));
  QpTable made;
  WEFT_TRY(const auto host, root.need("host"));
  WEFT_TRY(made.host, host.text());
  WEFT_TRY(const auto at, root.need("at_ns"));
  WEFT_TRY(const auto when, at.count<std::uint64_t>());
  if (when > kMaxAge) return at.error("expected at most {}", kMaxAge);
  made.at = Nanoseconds(static_cast<std::int64_t>(when));
  WEFT_TRY(const auto qps, root.need("qps"));
  WEFT_TRY(made.qps, files::read_array<QpRecord>(qps, read_qp));
  return made;
}

std::string qp_table_json(const QpTable& table, const files::DocumentStamp& stamp) {
  files::JsonText out;
  out.push_back('{');
  files::put_stamp(out, kSchema, stamp);
  files::put(out, R"(,"host":)");
  files::put_string(out, table.host);
  files::put(out, R"(,"at_ns":{},"qps":)", table.at.count());
  files::put_array(out, table.qps, [&](const QpRecord& qp) { put_qp(out, qp); });
  files::put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::nccl
