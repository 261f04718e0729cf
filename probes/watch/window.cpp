#include "probes/watch/window.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::watch {
namespace {

// The layout, all numbers as LEB128 varints unless a width is said; docs/watch.md has it in words.
//   version (1 byte), boot (8 bytes), number, plan, begin, length, flags (1 byte), NICs, each of them
//   NIC, first, count, dropped, lost (count, rows), settled (count, rows), delays (count, rows)
// and in version 2, which has at least one of them, traced hops (count, rows). So a watcher that asks for no
// traces gets windows that it knows.
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kTracedVersion = 2;
constexpr std::uint8_t kStalled = 1;  // of the flags; the others are 0
constexpr std::size_t kMaxNics = 64;  // of a host; the largest have sixteen
/// Streams whose delays one window tells: 64 NICs, a tenth of 640 streams each. With the longest histogram
/// that is read, 4 KB of memory each.
constexpr std::size_t kMaxDelays = 4096;
constexpr std::size_t kMaxTraced = 1024;                    // of a NIC: ten times what it sends in a second
constexpr std::uint8_t kV4 = 4, kV6 = 6;                    // before the bytes of an address
constexpr std::uint32_t kMaxBucket = 527;                   // of round trips up to 68 s
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 62;  // ns: 146 years
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;
// A histogram is half bytes, the high one first: below kLarge how often the next bucket counted, less one;
// kLarge, and a number of how much more; kSkip: that bucket is empty; kSkipMore, and a number: two and so
// many more are. Numbers have three bits in each half, the low ones first, and the fourth says that another
// half follows. With ten probes a second a bucket counts one to three as a rule.
constexpr std::uint8_t kLarge = 13;
constexpr std::uint8_t kSkip = 14;
constexpr std::uint8_t kSkipMore = 15;

class Writer {
 public:
  void byte(std::uint8_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void fixed(std::uint64_t value) {
    out_.resize(out_.size() + 8);
    store_be64(MutableByteSpan(out_), out_.size() - 8, value);
  }
  void half(std::uint8_t value) {
    if (half_ == 0) byte(0);
    out_.back() |= static_cast<std::byte>(half_ == 0 ? value << 4 : value);
    half_ ^= 1;
  }
  void number_in_halves(std::uint64_t value) {
    for (; value >= 8; value >>= 3) half(static_cast<std::uint8_t>((value & 7) | 8));
    half(static_cast<std::uint8_t>(value));
  }
  void end_halves() { half_ = 0; }
  std::vector<std::byte> take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
  int half_ = 0;  // 1: the low half of the last byte is free
};

/// Reads on after a mistake, zeros, and keeps the first one.
class Reader {
 public:
  explicit Reader(ByteSpan bytes) : bytes_(bytes) {}

  bool ok() const { return wrong_.empty(); }
  bool at_end() const { return at_ == bytes_.size(); }
  const std::string& wrong() const { return wrong_; }
  template <class... Args>
  void refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (ok()) wrong_ = fmt::format("byte {}: {}", at_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::uint8_t byte(const char* what) {
    if (!ok() || at_ >= bytes_.size()) {
      refuse("it ends within its {}", what);
      return 0;
    }
    return load_u8(bytes_, at_++);
  }
  std::uint64_t fixed(const char* what) {
    if (!ok() || bytes_.size() - at_ < 8) {
      refuse("it ends within its {}", what);
      return 0;
    }
    at_ += 8;
    return load_be64(bytes_, at_ - 8);
  }
  /// At most `most`, in as few bytes as it takes: each window has one form only.
  std::uint64_t number(const char* what, std::uint64_t most) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto next = byte(what);
      value |= std::uint64_t{next & 0x7Fu} << shift;
      if ((next & 0x80) != 0) continue;
      if (shift == 63 && next > 1) break;
      if (shift > 0 && next == 0) break;
      if (value > most) refuse("{} is no {}: at most {}", value, what, most);
      return ok() ? value : 0;
    }
    refuse("no number stands for its {}", what);
    return 0;
  }
  std::uint32_t small(const char* what, std::uint32_t most = std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(number(what, most));
  }
  /// Of rows that take at least `least` bytes each.
  std::size_t rows(const char* what, std::size_t most, std::size_t least) {
    const auto count = static_cast<std::size_t>(number(what, most));
    if (count * least > bytes_.size() - at_) refuse("{} {} do not fit what follows", count, what);
    return ok() ? count : 0;
  }
  std::uint8_t half(const char* what) {
    if (half_ == 0) both_ = byte(what);
    half_ ^= 1;
    return half_ == 1 ? both_ >> 4 : both_ & 0xF;
  }
  std::uint64_t number_in_halves(const char* what) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= 60; shift += 3) {
      const auto next = half(what);
      value |= std::uint64_t{next & 7u} << shift;
      if ((next & 8) != 0) continue;
      if (shift > 0 && next == 0) break;
      return value;
    }
    refuse("no number stands for its {}", what);
    return 0;
  }
  void end_halves() {
    if (std::exchange(half_, 0) == 1 && (both_ & 0xF) != 0) refuse("half a byte too many");
  }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
  int half_ = 0;  // 1: the low half of both_ comes next
  std::uint8_t both_ = 0;
  std::string wrong_;
};

void write_histogram(Writer& out, const LatencyHistogram& histogram) {
  const auto buckets = histogram.buckets();
  out.number(buckets.size());
  if (buckets.empty()) return;
  out.number(buckets[0].index);
  std::uint32_t next = buckets[0].index;
  for (const auto& [index, count] : buckets) {
    const auto empty = index - next;
    if (empty == 1) out.half(kSkip);
    if (empty > 1) out.half(kSkipMore), out.number_in_halves(empty - 2);
    if (count <= kLarge)
      out.half(static_cast<std::uint8_t>(count - 1));
    else
      out.half(kLarge), out.number_in_halves(count - kLarge - 1);
    next = index + 1;
  }
  out.end_halves();
}

/// How far the next bucket is and how often it counted.
std::pair<std::uint64_t, std::uint64_t> read_bucket(Reader& in) {
  std::uint64_t empty = 0;
  auto half = in.half("bucket");
  if (half == kSkip) empty = 1;
  if (half == kSkipMore) empty = in.number_in_halves("bucket") + 2;
  if (half >= kSkip) half = in.half("bucket");
  if (half >= kSkip) in.refuse("empty buckets come in two parts");
  return {empty, half < kLarge ? half + 1u : in.number_in_halves("bucket") + kLarge + 1};
}

LatencyHistogram read_histogram(Reader& in) {
  const auto count = static_cast<std::size_t>(in.number("buckets", kMaxBucket + 1));
  if (count == 0) return {};
  std::vector<LatencyHistogram::Bucket> buckets;
  std::uint64_t next = in.small("bucket", kMaxBucket);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const auto [empty, counted] = read_bucket(in);
    if (i == 0 && empty != 0) in.refuse("its first bucket is none");
    if (empty > kMaxBucket || next + empty > kMaxBucket) in.refuse("a round trip longer than a minute");
    buckets.push_back({static_cast<std::uint32_t>(next + empty), counted});
    next += empty + 1;
  }
  in.end_halves();
  if (!in.ok()) return {};
  auto histogram = LatencyHistogram::from(buckets);
  if (!histogram) in.refuse("{}", histogram.error().message);
  return histogram ? std::move(*histogram) : LatencyHistogram();
}

void write_nic(Writer& out, const NicWindow& nic) {
  out.number(nic.nic);
  out.number(nic.first);
  out.number(nic.count);
  out.number(nic.dropped);
  out.number(nic.lost.size());
  std::uint64_t next = 0;  // each row is how far from the one before, and its way
  for (const LostProbe& lost : nic.lost) {
    out.number((lost.offset - next) << 2 | static_cast<std::uint64_t>(lost.way));
    next = std::uint64_t{lost.offset} + 1;
  }
  out.number(nic.settled.size());
  for (std::size_t i = 0; i < nic.settled.size(); ++i) {
    const auto& settled = nic.settled[i];
    // The first one from behind: it is not long ago.
    const auto distance = i == 0 ? nic.first - settled.number - 1 : settled.number - next;
    out.number(distance << 2 | static_cast<std::uint64_t>(settled.way));
    next = settled.number + 1;
  }
  out.number(nic.delays.size());
  next = 0;
  for (const StreamDelays& delays : nic.delays) {
    out.number(delays.stream - next);
    write_histogram(out, delays.rtt);
    next = std::uint64_t{delays.stream} + 1;
  }
}

void write_traced(Writer& out, const NicWindow& nic) {
  out.number(nic.traced.size());
  std::uint64_t next = 0;
  for (const TracedHop& hop : nic.traced) {
    out.number(hop.stream - next);
    out.byte(hop.from.is_v6() ? kV6 : kV4);
    for (std::size_t i = 0; i < (hop.from.is_v6() ? 16u : 4u); ++i) out.byte(hop.from.bytes()[i]);
    next = std::uint64_t{hop.stream} + 1;
  }
}

void read_traced(Reader& in, NicWindow& nic) {
  const auto hops = in.rows("traced hops", kMaxTraced, 6);
  std::uint64_t stream = 0;
  for (std::size_t i = 0; i < hops && in.ok(); ++i) {
    stream += in.small("stream");
    if (stream > std::numeric_limits<std::uint32_t>::max()) in.refuse("no stream has number {}", stream);
    const auto family = in.byte("address");
    if (family != kV4 && family != kV6) in.refuse("no address begins with {}", family);
    IpAddress::V6 bytes{};
    for (std::size_t b = 0; b < (family == kV6 ? 16u : 4u); ++b) bytes[b] = in.byte("address");
    const IpAddress::V4 v4{bytes[0], bytes[1], bytes[2], bytes[3]};
    nic.traced.push_back(
        {static_cast<std::uint32_t>(stream++), family == kV6 ? IpAddress(bytes) : IpAddress(v4)});
  }
}

LostWay read_way(Reader& in, std::uint64_t row, LostWay last) {
  if ((row & 3) > static_cast<std::uint64_t>(last)) in.refuse("no way of a loss");
  return static_cast<LostWay>(row & 3);
}

void read_losses(Reader& in, NicWindow& nic) {
  nic.lost.resize(in.rows("lost probes", nic.count, 1));
  std::uint64_t next = 0;
  for (LostProbe& lost : nic.lost) {
    const auto row = in.number("lost probe", std::uint64_t{kMaxProbesOfWindow} << 2 | 3);
    next += row >> 2;
    if (next >= nic.count) in.refuse("probe {} of {}", next, nic.count);
    lost = {static_cast<std::uint32_t>(next++), read_way(in, row, LostWay::open)};
  }
  nic.settled.resize(in.rows("settled probes", kMaxProbesOfWindow, 1));
  std::uint64_t at = nic.first;
  for (std::size_t i = 0; i < nic.settled.size(); ++i) {
    const auto row = in.number("settled probe", kMaxNumber);
    const auto distance = row >> 2;
    if (i == 0 && distance < nic.first) at = nic.first - 1 - distance;
    if (i > 0) at += distance;
    if (at >= nic.first) in.refuse("a probe that was not sent before is settled");
    nic.settled[i] = {at++, read_way(in, row, LostWay::back)};
    if (!in.ok()) return;
  }
}

NicWindow read_nic(Reader& in, std::uint8_t version, std::size_t& delays_left) {
  NicWindow nic;
  nic.nic = in.small("NIC");
  nic.first = in.number("first probe", kMaxNumber);
  nic.count = in.small("probes", kMaxProbesOfWindow);
  nic.dropped = in.small("dropped frames");
  read_losses(in, nic);
  const auto delays = in.rows("delays", delays_left, 2);
  delays_left -= delays;
  std::uint64_t stream = 0;
  for (std::size_t i = 0; i < delays && in.ok(); ++i) {
    stream += in.small("stream");
    if (stream > std::numeric_limits<std::uint32_t>::max()) in.refuse("no stream has number {}", stream);
    nic.delays.push_back({static_cast<std::uint32_t>(stream++), read_histogram(in)});
  }
  if (version == kTracedVersion) read_traced(in, nic);
  return nic;
}

}  // namespace

std::vector<std::byte> encode_window(const Window& window) {
  const auto is_traced = [](const NicWindow& nic) { return !nic.traced.empty(); };
  const bool traced = std::ranges::any_of(window.nics, is_traced);
  Writer out;
  out.byte(traced ? kTracedVersion : kVersion);
  out.fixed(window.boot);
  out.number(window.number);
  out.number(window.plan.value());
  out.number(static_cast<std::uint64_t>(window.begin.count()));
  out.number(static_cast<std::uint64_t>(window.length.count()));
  out.byte(window.stalled ? kStalled : 0);
  out.number(window.nics.size());
  for (const NicWindow& nic : window.nics) {
    write_nic(out, nic);
    if (traced) write_traced(out, nic);
  }
  return std::move(out).take();
}

Result<Window> decode_window(ByteSpan bytes) {
  if (bytes.size() > kMaxWindowBytes)
    return fail(ErrorKind::invalid_input, "a window of {} bytes: at most {} are read", bytes.size(),
                kMaxWindowBytes);
  Reader in(bytes);
  const auto version = in.byte("version");
  if (in.ok() && version != kVersion && version != kTracedVersion)
    return fail(ErrorKind::invalid_input, "a window of version {}: this program reads {} and {}", version,
                kVersion, kTracedVersion);
  Window window;
  window.boot = in.fixed("boot");
  window.number = in.number("number", kMaxNumber);
  window.plan = PlanVersion(in.small("plan"));
  window.begin = Nanoseconds(static_cast<std::int64_t>(in.number("begin", kMaxTime)));
  window.length = Nanoseconds(static_cast<std::int64_t>(in.number("length", kMaxTime)));
  const auto flags = in.byte("flags");
  if (flags > kStalled) in.refuse("flags {} are not known", flags);
  window.stalled = flags == kStalled;
  const auto nics = in.rows("NICs", kMaxNics, 7);
  std::size_t delays_left = kMaxDelays;
  for (std::size_t i = 0; i < nics && in.ok(); ++i) window.nics.push_back(read_nic(in, version, delays_left));
  const auto is_plain = [](const NicWindow& nic) { return nic.traced.empty(); };
  if (version == kTracedVersion && std::ranges::all_of(window.nics, is_plain))
    in.refuse("no hop was traced, which is version {}", kVersion);
  if (!in.at_end()) in.refuse("more follows than belongs to it");
  if (!in.ok()) return fail(ErrorKind::invalid_input, "a window cannot be read: {}", in.wrong());
  return window;
}

}  // namespace weft::watch
