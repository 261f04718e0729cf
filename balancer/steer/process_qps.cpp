#include "balancer/steer/process_qps.hpp"

#include <algorithm>
#include <cctype>

namespace weft::steer {
namespace {

// The header, big endian: magic 8, version 4, records 4, pid 4, has a rank 4, rank 4, left out 4, generation
// 8, written 8, checksum 8, list written 8, program 64, note 160, host 64, job 64, holds a lock 4 (both 0 of
// a library that does not tell). A record: own GID 16, peer GID 16, number 4, peer number 4, label 4 (all
// ones: absent), source 1, role 1, move 1, failed 1, bytes 8, under way 8, stalled 8, errors 4, moves 4,
// quiet 8, device 16, busy 8, timeout 1, retries 1 (these and quiet: all ones where absent).
constexpr std::uint64_t kMagic = 0x776566747170732Aull;  // "weftqps*"
constexpr std::size_t kChecksumAt = 48;
constexpr std::size_t kProgramAt = 64;
constexpr std::size_t kProgramSize = 64;
constexpr std::size_t kNoteAt = 128;
constexpr std::size_t kNoteSize = 160;
constexpr std::size_t kListWrittenAt = 56;
constexpr std::size_t kHostAt = 288;
constexpr std::size_t kHostSize = 64;
constexpr std::size_t kJobAt = 352;
constexpr std::size_t kJobSize = 64;
constexpr std::size_t kLockAt = 416;
constexpr std::size_t kDeviceAt = 88;
constexpr std::size_t kDeviceSize = 16;
constexpr std::size_t kQuietAt = 80;
constexpr std::size_t kBusyAt = 104;
constexpr std::size_t kTimeoutAt = 112;
constexpr std::size_t kRetriesAt = 113;
constexpr std::uint32_t kNoLabel = 0xFFFFFFFF;
constexpr std::uint8_t kNone = 0xFF;
constexpr std::uint64_t kNoTime = ~std::uint64_t{0};
// The fields' widths in a packet's context (IBTA vol. 1, local ACK timeout and retry count).
constexpr std::uint8_t kMaxTimeout = 31;
constexpr std::uint8_t kMaxRetries = 7;

void store_time(MutableByteSpan bytes, std::size_t at, std::chrono::nanoseconds time) {
  store_be64(bytes, at, static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
}

std::optional<std::uint8_t> load_small(ByteSpan bytes, std::size_t at, std::uint8_t most) {
  const std::uint8_t value = load_u8(bytes, at);
  return value <= most ? std::optional(value) : std::nullopt;
}

void store_gids(MutableByteSpan bytes, const QpRecord& qp) {
  for (std::size_t i = 0; i < qp.own.size(); ++i) {
    store_u8(bytes, i, qp.own[i]);
    store_u8(bytes, 16 + i, qp.peer[i]);
  }
}

void encode_record(MutableByteSpan bytes, const QpRecord& qp) {
  store_gids(bytes, qp);
  store_be32(bytes, 32, qp.number.value());
  store_be32(bytes, 36, qp.peer_number.value());
  store_be32(bytes, 40, qp.label ? qp.label->value() : kNoLabel);
  store_u8(bytes, 44, static_cast<std::uint8_t>(qp.source));
  store_u8(bytes, 45, static_cast<std::uint8_t>(qp.role));
  store_u8(bytes, 46, static_cast<std::uint8_t>(qp.move));
  store_u8(bytes, 47, qp.failed ? 1 : 0);
  store_be64(bytes, 48, qp.bytes);
  store_be64(bytes, 56, qp.under_way);
  store_time(bytes, 64, qp.stalled);
  store_be32(bytes, 72, qp.errors);
  store_be32(bytes, 76, qp.moves);
  store_text(bytes, kDeviceAt, kDeviceSize, qp.device);
  if (qp.quiet)
    store_time(bytes, kQuietAt, *qp.quiet);
  else
    store_be64(bytes, kQuietAt, kNoTime);
  store_time(bytes, kBusyAt, qp.busy);
  store_u8(bytes, kTimeoutAt, qp.timeout.value_or(kNone));
  store_u8(bytes, kRetriesAt, qp.retries.value_or(kNone));
}

Result<QpRecord> decode_record(ByteSpan bytes) {
  const std::uint8_t source = load_u8(bytes, 44);
  const std::uint8_t role = load_u8(bytes, 45);
  const std::uint8_t move = load_u8(bytes, 46);
  if (source > static_cast<std::uint8_t>(LabelSource::weft) ||
      role > static_cast<std::uint8_t>(Role::answers) || move > static_cast<std::uint8_t>(Move::unseen))
    return fail(ErrorKind::invalid_input, "a queue pair's record: source {}, role {}, move {}", source, role,
                move);
  QpRecord qp;
  for (std::size_t i = 0; i < qp.own.size(); ++i) {
    qp.own[i] = load_u8(bytes, i);
    qp.peer[i] = load_u8(bytes, 16 + i);
  }
  qp.number = QpNum(load_be32(bytes, 32));
  qp.peer_number = QpNum(load_be32(bytes, 36));
  if (const auto label = load_be32(bytes, 40); label != kNoLabel) qp.label = PathLabel(label);
  qp.source = static_cast<LabelSource>(source);
  qp.role = static_cast<Role>(role);
  qp.move = static_cast<Move>(move);
  qp.failed = load_u8(bytes, 47) != 0;
  qp.bytes = load_be64(bytes, 48);
  qp.under_way = load_be64(bytes, 56);
  qp.stalled = load_time(bytes, 64);
  qp.errors = load_be32(bytes, 72);
  qp.moves = load_be32(bytes, 76);
  qp.device = load_text(bytes, kDeviceAt, kDeviceSize);
  if (load_be64(bytes, kQuietAt) != kNoTime) qp.quiet = load_time(bytes, kQuietAt);
  qp.busy = load_time(bytes, kBusyAt);
  qp.timeout = load_small(bytes, kTimeoutAt, kMaxTimeout);
  qp.retries = load_small(bytes, kRetriesAt, kMaxRetries);
  return qp;
}

std::string name_part(std::string_view text) {
  std::string part(text);
  for (char& c : part)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  return part;
}

std::uint64_t checksum_of(ByteSpan bytes, std::size_t size) {
  return checksum(bytes.subspan(kChecksumAt + 8, size - kChecksumAt - 8), checksum(bytes.first(kChecksumAt)));
}

}  // namespace

std::string_view to_string(LabelSource source) {
  switch (source) {
    case LabelSource::device:
      return "device";
    case LabelSource::program:
      return "program";
    case LabelSource::weft:
      return "weft";
  }
  return "";
}

std::string_view to_string(Move move) {
  switch (move) {
    case Move::none:
      return "";
    case Move::under_way:
      return "moving";
    case Move::done:
      return "moved";
    case Move::not_at_rest:
      return "stays: did not come to rest";
    case Move::refused:
      return "stays: the device refuses";
    case Move::unseen:
      return "stays: posts by ibv_wr_*";
  }
  return "";
}

std::vector<std::byte> encode_qps(const ProcessQps& process) {
  const std::size_t count = std::min(process.qps.size(), kMaxQps);
  std::vector<std::byte> bytes(kQpsHeader + count * kQpRecordSize);
  store_be64(bytes, 0, kMagic);
  store_be32(bytes, 8, kQpsVersion);
  store_be32(bytes, 12, static_cast<std::uint32_t>(count));
  store_be32(bytes, 16, process.pid);
  store_be32(bytes, 20, process.rank ? 1 : 0);
  store_be32(bytes, 24, process.rank.value_or(0));
  store_be32(bytes, 28, process.left_out + static_cast<std::uint32_t>(process.qps.size() - count));
  store_be64(bytes, 32, process.generation);
  store_time(bytes, 40, process.written);
  store_time(bytes, kListWrittenAt, process.list_written);
  store_text(bytes, kJobAt, kJobSize, process.job);
  store_be32(bytes, kLockAt, process.holds_lock ? 1 : 0);
  store_text(bytes, kHostAt, kHostSize, process.host);
  store_text(bytes, kProgramAt, kProgramSize, process.program);
  store_text(bytes, kNoteAt, kNoteSize, process.note);
  for (std::size_t i = 0; i < count; ++i)
    encode_record(MutableByteSpan(bytes).subspan(kQpsHeader + i * kQpRecordSize, kQpRecordSize),
                  process.qps[i]);
  store_be64(bytes, kChecksumAt, checksum_of(bytes, bytes.size()));
  return bytes;
}

Result<ProcessQps> decode_qps(ByteSpan bytes) {
  if (bytes.size() < kQpsHeader || load_be64(bytes, 0) != kMagic)
    return fail(ErrorKind::invalid_input, "no file of a process's queue pairs");
  if (const auto version = load_be32(bytes, 8); version != kQpsVersion)
    return fail(ErrorKind::invalid_input, "of version {}: this program reads {}", version, kQpsVersion);
  const std::size_t count = load_be32(bytes, 12);
  const std::size_t size = kQpsHeader + count * kQpRecordSize;
  if (count > kMaxQps || size > bytes.size())
    return fail(ErrorKind::invalid_input, "cut short: {} bytes, and {} queue pairs need {}", bytes.size(),
                count, size);
  if (checksum_of(bytes, size) != load_be64(bytes, kChecksumAt))
    return fail(ErrorKind::invalid_input, "half written: its checksum does not fit");
  ProcessQps process{.pid = load_be32(bytes, 16),
                     .rank = std::nullopt,
                     .generation = load_be64(bytes, 32),
                     .written = load_time(bytes, 40),
                     .left_out = load_be32(bytes, 28),
                     .list_written = load_time(bytes, kListWrittenAt),
                     .holds_lock = load_be32(bytes, kLockAt) != 0,
                     .job = load_text(bytes, kJobAt, kJobSize),
                     .host = load_text(bytes, kHostAt, kHostSize),
                     .program = load_text(bytes, kProgramAt, kProgramSize),
                     .note = load_text(bytes, kNoteAt, kNoteSize),
                     .qps = {}};
  if (load_be32(bytes, 20) != 0) process.rank = load_be32(bytes, 24);
  for (std::size_t i = 0; i < count; ++i) {
    WEFT_TRY(auto qp, decode_record(bytes.subspan(kQpsHeader + i * kQpRecordSize, kQpRecordSize)));
    process.qps.push_back(std::move(qp));
  }
  return process;
}

std::optional<bool> peek_lock(ByteSpan header) {
  if (header.size() < kQpsHeader || load_be64(header, 0) != kMagic || load_be32(header, 8) != kQpsVersion)
    return std::nullopt;
  return load_be32(header, kLockAt) != 0;
}

std::string job_text(std::string_view job) {
  std::vector<std::byte> bytes(kJobSize);
  store_text(bytes, 0, kJobSize, job);
  return load_text(bytes, 0, kJobSize);
}

KernelName kernel_name(std::string_view host, std::string_view boot_id) {
  return {name_part(host.empty() ? "host" : host),
          name_part(boot_id.empty() ? kUnknownBoot : boot_id.substr(0, kUnknownBoot.size()))};
}

std::optional<KernelName> kernel_of_file(std::string_view name) {
  constexpr std::string_view kEnd = ".qps";
  if (!name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  // A host's name has dashes of its own: the process, its namespace and the boot are the last three parts.
  std::string_view last;
  for (int parts = 0; parts < 3; ++parts) {
    const auto dash = name.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    last = name.substr(dash + 1);
    name = name.substr(0, dash);
  }
  if (name.empty() || last.size() != kUnknownBoot.size()) return std::nullopt;
  return KernelName{std::string(name), std::string(last)};
}

}  // namespace weft::steer
