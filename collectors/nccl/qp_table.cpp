#include "collectors/nccl/qp_table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "topology/base/json_limits.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::nccl {
namespace {

using files::JsonView;

constexpr std::string_view kSchema = "weft.qps/1";
constexpr std::string_view kByKernel = "kernel";
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
  WEFT_TRY(made.device, read_name(view, "device"));
  WEFT_TRY(made.role, read_name(view, "role"));
  WEFT_TRY(made.label_by, read_name(view, "label_by"));
  WEFT_TRY(const auto moves, read_count<std::uint64_t>(view, "moves", UINT64_MAX));
  made.moves = moves.value_or(0);
  WEFT_TRY(made.move, read_name(view, "move"));
  WEFT_TRY(made.state, read_name(view, "state"));
  return made;
}

Result<QpTable> read_process(const JsonView& view) {
  QpTable made;
  WEFT_TRY(const auto host, view.need("host"));
  WEFT_TRY(made.host, host.text());
  WEFT_TRY(const auto at, view.need("at_ns"));
  WEFT_TRY(const auto when, at.count<std::uint64_t>());
  if (when > kMaxAge) return at.error("expected at most {}", kMaxAge);
  made.at = Nanoseconds(static_cast<std::int64_t>(when));
  WEFT_TRY(const auto pid, view.need("pid"));
  WEFT_TRY(made.pid, pid.count<std::uint64_t>());
  WEFT_TRY(const auto rank, read_count<Rank>(view, "rank", kMaxRank));
  WEFT_TRY(made.program, read_name(view, "program"));
  WEFT_TRY(made.list, read_count<std::uint64_t>(view, "list", UINT64_MAX));
  WEFT_TRY(const auto left_out, read_count<std::uint64_t>(view, "left_out", UINT64_MAX));
  made.left_out = left_out.value_or(0);
  WEFT_TRY(made.note, read_name(view, "note"));
  WEFT_TRY(made.job, read_name(view, "job"));
  if (const auto ended = view.find("ended")) {
    WEFT_TRY(made.has_ended, ended->boolean());
  }
  if (const auto source = view.find("source")) {
    WEFT_TRY(const auto text, source->text());
    if (text != kByKernel) return source->error("expected {}, not {}", kByKernel, source->shown());
    made.by_kernel = true;
  }
  WEFT_TRY(const auto qps, view.need("qps"));
  WEFT_TRY(made.qps, files::read_array<QpRecord>(qps, read_qp));
  for (QpRecord& qp : made.qps) {
    qp.pid = made.pid;
    qp.rank = rank;
  }
  return made;
}

void put_name(files::JsonText& out, const char* name, const std::string& text) {
  if (text.empty()) return;
  files::put(out, R"(,"{}":)", name);
  files::put_string(out, text);
}

void put_qp(files::JsonText& out, const QpRecord& qp, bool by_kernel) {
  const auto put_time = [&](const char* name, const std::optional<Nanoseconds>& time) {
    if (time) files::put(out, R"(,"{}":{})", name, time->count());
  };
  files::put(out, R"({{"qpn":{})", qp.number.value());
  if (qp.peer_number) files::put(out, R"(,"peer_qpn":{})", qp.peer_number->value());
  if (qp.gid) put_name(out, "gid", to_string(*qp.gid));
  if (qp.peer_gid) put_name(out, "peer_gid", to_string(*qp.peer_gid));
  put_name(out, "nic", qp.nic);
  put_name(out, "peer_nic", qp.peer_nic);
  if (qp.label) files::put(out, R"(,"label":{})", qp.label->value());
  if (!qp.path.empty()) {
    files::put(out, R"(,"path":)");
    files::put_array(out, qp.path, [&](const std::string& channel) { files::put_string(out, channel); });
  }
  if (!by_kernel)
    files::put(out, R"(,"bytes":{},"outstanding":{},"errors":{})", qp.bytes, qp.outstanding, qp.errors);
  put_time("oldest_ns", qp.oldest);
  put_time("quiet_ns", qp.quiet);
  put_time("busy_ns", qp.busy);
  if (qp.timeout) files::put(out, R"(,"timeout":{})", *qp.timeout);
  if (qp.retries) files::put(out, R"(,"retries":{})", *qp.retries);
  put_name(out, "device", qp.device);
  put_name(out, "role", qp.role);
  put_name(out, "label_by", qp.label_by);
  if (qp.moves > 0) files::put(out, R"(,"moves":{})", qp.moves);
  put_name(out, "move", qp.move);
  put_name(out, "state", qp.state);
  out.push_back('}');
}

void put_process(files::JsonText& out, const QpTable& table, std::span<const QpRecord> qps,
                 std::uint64_t pid) {
  files::put(out, R"({{"host":)");
  files::put_string(out, table.host);
  files::put(out, R"(,"at_ns":{},"pid":{})", table.at.count(), pid);
  if (!qps.empty() && qps.front().rank) files::put(out, R"(,"rank":{})", *qps.front().rank);
  put_name(out, "program", table.program);
  if (table.list) files::put(out, R"(,"list":{})", *table.list);
  if (table.left_out > 0) files::put(out, R"(,"left_out":{})", table.left_out);
  put_name(out, "note", table.note);
  put_name(out, "job", table.job);
  if (table.has_ended) files::put(out, R"(,"ended":true)");
  if (table.by_kernel) files::put(out, R"(,"source":"{}")", kByKernel);
  files::put(out, R"(,"qps":)");
  files::put_array(out, qps, [&](const QpRecord& qp) { put_qp(out, qp, table.by_kernel); });
  out.push_back('}');
}

/// Of each process the queue pairs; of pods with pids of their own two may have one pid.
void put_processes(files::JsonText& out, QpTable table, bool& is_first) {
  const auto process_of = [](const QpRecord& qp) { return std::pair(qp.pid, qp.rank); };
  std::ranges::stable_sort(table.qps, {}, process_of);
  const std::span<const QpRecord> all(table.qps);
  for (std::size_t from = 0, to = 0; from < all.size() || to == 0; from = to) {
    const std::uint64_t pid = all.empty() ? table.pid : all[from].pid;
    while (to < all.size() && process_of(all[to]) == process_of(all[from])) ++to;
    if (!is_first) out.push_back(',');
    is_first = false;
    put_process(out, table, all.subspan(from, to - from), pid);
    if (all.empty()) break;
  }
}

}  // namespace

Result<std::vector<QpTable>> parse_qp_tables(std::string_view text, std::string_view what) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, files::parse_json(text, what));
  const JsonView document(json, what);
  WEFT_TRY(const auto root, files::check_schema(document, kSchema));
  WEFT_TRY(const auto processes, root.need("processes"));
  return files::read_array<QpTable>(processes, read_process);
}

std::string qp_tables_json(std::span<const QpTable> tables, const files::DocumentStamp& stamp) {
  files::JsonText out;
  out.push_back('{');
  files::put_stamp(out, kSchema, stamp);
  files::put(out, R"(,"processes":[)");
  bool is_first = true;
  for (const QpTable& table : tables) put_processes(out, table, is_first);
  files::put(out, "]}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::nccl
