#include "balancer/steer/label_list.hpp"

#include <algorithm>

#include "topology/base/outside_text.hpp"

namespace weft::steer {
namespace {

// The header, big endian: magic 8, version 4, pairs 4, generation 8, labels 4, zero 4, checksum 8, written 8,
// job 64.
// A pair: own GID 16, peer GID 16, base LID 2 (0: RoCE), LMC 1, role 1, first label 4, labels 4, zero 4.
constexpr std::uint64_t kMagic = 0x776566746C61622Aull;  // "weftlab*"
constexpr std::size_t kPairSize = 48;
constexpr std::size_t kLabelSize = 4;
constexpr std::size_t kChecksumAt = 32;
constexpr std::size_t kWrittenAt = 40;
constexpr std::size_t kJobAt = 48;
constexpr std::size_t kJobSize = 64;
static_assert(kJobAt + kJobSize == kLabelHeader);
constexpr std::uint8_t kMaxLmc = 7;  // IBTA vol. 1, PortInfo: three bits

void store_gid(MutableByteSpan bytes, std::size_t at, const Gid& gid) {
  for (std::size_t i = 0; i < gid.size(); ++i) store_u8(bytes, at + i, gid[i]);
}
Gid load_gid(ByteSpan bytes, std::size_t at) {
  Gid gid{};
  for (std::size_t i = 0; i < gid.size(); ++i) gid[i] = load_u8(bytes, at + i);
  return gid;
}

/// Of all but itself.
std::uint64_t checksum_of(ByteSpan bytes, std::size_t size) {
  return checksum(bytes.subspan(kWrittenAt, size - kWrittenAt), checksum(bytes.first(kChecksumAt)));
}

Result<void> check_pair(const PairLabels& pair) {
  if (pair.peer_lids) {
    if (pair.peer_lids->lmc > kMaxLmc || pair.peer_lids->base.value() == 0)
      return fail(ErrorKind::invalid_input, "a label list: base LID {}, LMC {} are of no port",
                  pair.peer_lids->base.value(), pair.peer_lids->lmc);
  }
  for (const PathLabel label : pair.labels) {
    const bool is_lid = label.value() <= 0xFFFF && pair.peer_lids &&
                        pair.peer_lids->contains(Lid(static_cast<std::uint16_t>(label.value())));
    // No flow label gives a port below 0xC000 (ibv_flow_label_to_udp_sport).
    const bool is_port = !pair.peer_lids && label.value() >= 0xC000 && label.value() <= 0xFFFF;
    if (!is_lid && !is_port)
      return fail(ErrorKind::invalid_input, "a label list: {} is no {} of {}", label.value(),
                  pair.peer_lids ? "LID" : "UDP source port (49152 to 65535)", gid_text(pair.peer));
  }
  return {};
}

Result<PairLabels> decode_pair(ByteSpan bytes, std::size_t at, ByteSpan labels) {
  PairLabels pair{load_gid(bytes, at), load_gid(bytes, at + 16), std::nullopt, Role::sends, {}};
  if (const Lid base(load_be16(bytes, at + 32)); base.value() != 0)
    pair.peer_lids = LidRange{base, load_u8(bytes, at + 34)};
  const std::uint8_t role = load_u8(bytes, at + 35);
  if (role > static_cast<std::uint8_t>(Role::answers))
    return fail(ErrorKind::invalid_input, "a label list: {} is no role", role);
  pair.role = static_cast<Role>(role);
  const std::size_t first = load_be32(bytes, at + 36);
  const std::size_t count = load_be32(bytes, at + 40);
  const std::size_t all = labels.size() / kLabelSize;
  if (first > all || count > all - first)
    return fail(ErrorKind::invalid_input, "a label list: labels {} to {} of {}", first, first + count, all);
  for (std::size_t i = first; i < first + count; ++i)
    pair.labels.emplace_back(load_be32(labels, i * kLabelSize));
  WEFT_TRY_VOID(check_pair(pair));
  return pair;
}

constexpr std::string_view kAnyJob = "labels";

}  // namespace

std::string labels_file(std::string_view job) {
  if (job.empty()) return std::string(kAnyJob);
  // In any locale of the job's program.
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string name(job);
  for (char& c : name)
    if (!is_plain(c)) c = '-';
  if (name != job) name += fmt::format("-{:016x}", checksum(std::as_bytes(std::span(job))));
  return fmt::format("{}.{}", kAnyJob, name);
}

bool is_labels_file(std::string_view name) {
  if (!name.starts_with(kAnyJob)) return false;
  name.remove_prefix(kAnyJob.size());
  return name.empty() || (name[0] == '.' && name.find('.', 1) == std::string_view::npos);
}

std::string gid_text(const Gid& gid) {
  const bool mapped = std::all_of(gid.begin(), gid.begin() + 10, [](auto byte) { return byte == 0; }) &&
                      gid[10] == 0xFF && gid[11] == 0xFF;
  return to_string(mapped ? IpAddress(IpAddress::V4{gid[12], gid[13], gid[14], gid[15]}) : IpAddress(gid));
}

Gid gid_of(const IpAddress& address) {
  if (address.is_v6()) return address.bytes();
  Gid gid{};
  gid[10] = gid[11] = 0xFF;
  std::ranges::copy(address.v4(), gid.begin() + 12);
  return gid;
}

std::string_view to_string(Role role) { return role == Role::sends ? "sends" : "answers"; }

const PairLabels* LabelList::find(const Gid& own, const Gid& peer, std::optional<Lid> dlid, Role role) const {
  const auto found = std::ranges::find_if(pairs, [&](const PairLabels& pair) {
    if (pair.own != own || pair.role != role || pair.labels.empty()) return false;
    if (dlid) return pair.peer_lids && pair.peer_lids->contains(*dlid);
    return !pair.peer_lids && pair.peer == peer;
  });
  return found == pairs.end() ? nullptr : &*found;
}

Result<std::vector<std::byte>> encode_labels(const LabelList& list) {
  std::size_t labels = 0;
  for (const PairLabels& pair : list.pairs) {
    WEFT_TRY_VOID(check_pair(pair));
    labels += pair.labels.size();
  }
  if (list.job.size() >= kJobSize)
    return fail(ErrorKind::invalid_input, "a job's name of {} characters: at most {}", list.job.size(),
                kJobSize - 1);
  if (list.pairs.size() > kMaxPairs || labels > kMaxLabels)
    return fail(ErrorKind::invalid_input, "{} pairs with {} labels for one host: at most {} and {}",
                list.pairs.size(), labels, kMaxPairs, kMaxLabels);
  std::vector<std::byte> bytes(kLabelHeader + list.pairs.size() * kPairSize + labels * kLabelSize);
  store_be64(bytes, 0, kMagic);
  store_be32(bytes, 8, kLabelVersion);
  store_be32(bytes, 12, static_cast<std::uint32_t>(list.pairs.size()));
  store_be64(bytes, 16, list.generation);
  store_be32(bytes, 24, static_cast<std::uint32_t>(labels));
  store_be64(bytes, kWrittenAt, static_cast<std::uint64_t>(std::max<std::int64_t>(list.written.count(), 0)));
  store_text(bytes, kJobAt, kJobSize, list.job);
  std::size_t at = kLabelHeader;
  const std::size_t first_label = at + list.pairs.size() * kPairSize;
  std::size_t next = 0;
  for (const PairLabels& pair : list.pairs) {
    store_gid(bytes, at, pair.own);
    store_gid(bytes, at + 16, pair.peer);
    if (pair.peer_lids) {
      store_be16(bytes, at + 32, pair.peer_lids->base.value());
      store_u8(bytes, at + 34, pair.peer_lids->lmc);
    }
    store_u8(bytes, at + 35, static_cast<std::uint8_t>(pair.role));
    store_be32(bytes, at + 36, static_cast<std::uint32_t>(next));
    store_be32(bytes, at + 40, static_cast<std::uint32_t>(pair.labels.size()));
    for (const PathLabel label : pair.labels)
      store_be32(bytes, first_label + kLabelSize * next++, label.value());
    at += kPairSize;
  }
  store_be64(bytes, kChecksumAt, checksum_of(bytes, bytes.size()));
  return bytes;
}

std::optional<std::uint64_t> peek_generation(ByteSpan header) {
  if (header.size() < kLabelHeader || load_be64(header, 0) != kMagic) return std::nullopt;
  return load_be64(header, 16);
}

Result<LabelList> decode_labels(ByteSpan bytes) {
  if (bytes.size() < kLabelHeader || load_be64(bytes, 0) != kMagic)
    return fail(ErrorKind::invalid_input, "no label list");
  if (const auto version = load_be32(bytes, 8); version != kLabelVersion)
    return fail(ErrorKind::invalid_input, "a label list of version {}: this program reads {}", version,
                kLabelVersion);
  const std::size_t pairs = load_be32(bytes, 12);
  const std::size_t labels = load_be32(bytes, 24);
  if (pairs > kMaxPairs || labels > kMaxLabels)
    return fail(ErrorKind::invalid_input, "a label list of {} pairs and {} labels: at most {} and {}", pairs,
                labels, kMaxPairs, kMaxLabels);
  const std::size_t size = kLabelHeader + pairs * kPairSize + labels * kLabelSize;
  if (size > bytes.size())
    return fail(ErrorKind::invalid_input, "a label list cut short: {} bytes of {}", bytes.size(), size);
  if (checksum_of(bytes, size) != load_be64(bytes, kChecksumAt))
    return fail(ErrorKind::invalid_input, "a label list half written or changed: its checksum does not fit");
  LabelList list{.generation = load_be64(bytes, 16),
                 .pairs = {},
                 .written = load_time(bytes, kWrittenAt),
                 .job = load_text(bytes, kJobAt, kJobSize)};
  // An escape is longer than what it stands for.
  if (list.job.size() >= kJobSize)
    return fail(ErrorKind::invalid_input, "a label list whose job is called {}", list.job);
  const ByteSpan label_bytes = bytes.subspan(kLabelHeader + pairs * kPairSize, labels * kLabelSize);
  std::size_t total = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    WEFT_TRY(auto pair, decode_pair(bytes, kLabelHeader + i * kPairSize, label_bytes));
    // Pairs may share labels: without this few bytes would make kMaxPairs * kMaxLabels of them.
    total += pair.labels.size();
    if (total > kMaxLabels)
      return fail(ErrorKind::invalid_input, "a label list whose pairs have more than {} labels", kMaxLabels);
    list.pairs.push_back(std::move(pair));
  }
  return list;
}

void store_text(MutableByteSpan bytes, std::size_t at, std::size_t size, std::string_view text) {
  for (std::size_t i = 0; i < std::min(text.size(), size - 1); ++i)
    store_u8(bytes, at + i, static_cast<std::uint8_t>(text[i]));
}
std::string load_text(ByteSpan bytes, std::size_t at, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size - 1 && load_u8(bytes, at + i) != 0; ++i)
    text += static_cast<char>(load_u8(bytes, at + i));
  return outside_text(text);
}
std::chrono::nanoseconds load_time(ByteSpan bytes, std::size_t at) {
  const std::uint64_t count = load_be64(bytes, at);
  return std::chrono::nanoseconds(count >> 63U == 0 ? static_cast<std::int64_t>(count) : 0);
}

std::uint64_t checksum(ByteSpan bytes, std::uint64_t seed) {
  for (const std::byte byte : bytes) seed = (seed ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3ull;
  return seed;
}

}  // namespace weft::steer
