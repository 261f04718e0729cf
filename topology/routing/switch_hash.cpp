#include "topology/routing/switch_hash.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/base/check.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::routing {
namespace {

constexpr std::size_t kDestination = 128;  // where its bits begin in FlowBits
constexpr std::size_t kPort = 256;
constexpr std::uint64_t kOneKey = 1;  // the seed of a Toeplitz key that all devices have
constexpr unsigned kTableBits = 8;

void put_address(const IpAddress& address, std::uint64_t& first, std::uint64_t& second) {
  const std::size_t length = address.is_v6() ? 16 : 4;
  for (std::size_t i = 0; i < length; ++i) {
    auto& word = i < 8 ? first : second;
    word = word << 8 | address.bytes()[i];
  }
}

constexpr std::size_t kOthers = kPort + 16;  // queue pair, traffic class, ingress port
constexpr std::size_t kOtherBits = 48;

/// Which bit of FlowBits goes in at each step, in bytes from the highest bit on; absent: one that never
/// varies. What few switches hash stands first, where a CRC's columns of the others do not depend on it.
class Message {
 public:
  Message(HashedFields fields, bool is_v6) : is_v6_(is_v6) {
    add(kOthers, kOtherBits);
    if (fields == HashedFields::ports_addresses) add_ports(true);
    add_address(0);
    add_address(kDestination);
    if (fields == HashedFields::addresses_protocol_ports) bits_.resize(bits_.size() + 8);
    if (fields != HashedFields::ports_addresses) add_ports(fields != HashedFields::addresses_source_port);
  }
  const std::vector<std::optional<std::size_t>>& bits() const { return bits_; }

 private:
  void add(std::size_t from, std::size_t count) {
    for (std::size_t i = count; i-- > 0;) bits_.emplace_back(from + i);
  }
  void add_address(std::size_t from) {
    add(from, is_v6_ ? 64 : 32);
    if (is_v6_) add(from + 64, 64);
  }
  void add_ports(bool both) {
    add(kPort, 16);
    if (both) bits_.resize(bits_.size() + 16);
  }

  bool is_v6_;
  std::vector<std::optional<std::size_t>> bits_;
};

std::uint32_t reflect(std::uint32_t value, unsigned width) {
  std::uint32_t turned_round = 0;
  for (unsigned i = 0; i < width; ++i) turned_round |= (value >> i & 1U) << (width - 1 - i);
  return turned_round;
}

HashColumns toeplitz_columns(std::uint64_t seed, bool is_v6) {
  const Message message(HashedFields::addresses_ports, is_v6);
  auto bits = message.bits();  // those first that stand last in a key
  std::ranges::rotate(bits, bits.begin() + kOtherBits);
  SplitMix64 random(seed);
  std::uint64_t key = random();  // the 32 bits that stand over the message's bit, and those behind
  HashColumns columns{};
  unsigned used = 0;
  for (const auto& bit : bits) {
    if (bit) columns[*bit] = static_cast<std::uint32_t>(key >> 32);
    key <<= 1;
    if (++used == 32) {
      key |= random() & 0xFFFFFFFFU;
      used = 0;
    }
  }
  return columns;
}

std::vector<HashColumns> make_known_crcs(unsigned width, bool is_v6) {
  std::vector<HashColumns> all;
  const auto add = [&](std::uint32_t polynomial) {
    for (const bool reflected : {false, true})
      for (const auto fields : kHashedFields)
        all.push_back(crc_columns(polynomial, width, reflected, fields, is_v6));
  };
  if (width == 16)
    std::ranges::for_each(kCrc16Polynomials, add);
  else
    add(kCrc32Polynomial);
  return all;
}

/// One object for all devices that hash alike.
std::shared_ptr<const HashColumns> shared_crc(std::uint32_t polynomial, unsigned width, bool reflected,
                                              bool is_v6) {
  static std::mutex guards_known;
  static std::map<std::tuple<std::uint32_t, unsigned, bool, bool>, std::shared_ptr<const HashColumns>> known;
  const std::lock_guard lock(guards_known);
  auto& columns = known[{polynomial, width, reflected, is_v6}];
  if (!columns)
    columns = std::make_shared<const HashColumns>(
        crc_columns(polynomial, width, reflected, HashedFields::addresses_protocol_ports, is_v6));
  return columns;
}

/// A bijection of 0 ... count - 1 that is not affine: steps of one on the next power of two, again where they
/// lead beyond.
std::uint32_t in_own_order(std::uint32_t member, std::uint32_t count, std::uint64_t seed) {
  const std::uint32_t mask = std::bit_ceil(count) - 1;
  const auto add = static_cast<std::uint32_t>(seed), odd = static_cast<std::uint32_t>(seed >> 32) | 1U;
  const unsigned half = (static_cast<unsigned>(std::bit_width(mask)) + 1) / 2;
  do {
    member = (member ^ add) * odd & mask;
    member ^= member >> half;
    member = (member * (odd + 4) + (add >> 16)) & mask;
  } while (member >= count);
  return member;
}

constexpr std::pair<std::string_view, HashFamily> kFamilies[] = {{"structureless", HashFamily::structureless},
                                                                 {"crc16", HashFamily::crc16},
                                                                 {"crc32", HashFamily::crc32},
                                                                 {"toeplitz", HashFamily::toeplitz},
                                                                 {"xor", HashFamily::xor_fold}};
constexpr std::pair<std::string_view, Reduction> kReductions[] = {
    {"modulo", Reduction::modulo}, {"threshold", Reduction::threshold}, {"table", Reduction::table}};

constexpr std::pair<std::string_view, bool HashOptions::*> kFlags[] = {
    {"qp", &HashOptions::queue_pair},
    {"class", &HashOptions::traffic_class},
    {"ingress", &HashOptions::ingress_port},
    {"polarised", &HashOptions::polarised}};

template <class Named>
auto find_word(const Named& named, std::string_view word) {
  std::optional<decltype(named[0].second)> found;
  for (const auto& [name, value] : named)
    if (name == word) found = value;
  return found;
}

}  // namespace

FlowBits FlowBits::of(const IpAddress& src, const IpAddress& dst, PathLabel label) {
  FlowBits flow;
  put_address(src, flow.words[0], flow.words[1]);
  put_address(dst, flow.words[2], flow.words[3]);
  flow.words[4] = label.value() & 0xFFFFU;
  return flow;
}

FlowBits& FlowBits::operator^=(const FlowBits& other) {
  for (std::size_t i = 0; i < kWords; ++i) words[i] ^= other.words[i];
  return *this;
}

bool FlowBits::is_v6() const {
  constexpr std::uint64_t kV4 = 0xFFFFFFFF;
  return words[1] != 0 || words[3] != 0 || words[0] > kV4 || words[2] > kV4;
}

std::optional<std::size_t> FlowBits::top() const {
  for (std::size_t i = kWords; i-- > 0;)
    if (words[i] != 0) return i * 64 + static_cast<std::size_t>(std::bit_width(words[i])) - 1;
  return std::nullopt;
}

Result<HashOptions> parse_hash(std::string_view text) {
  const auto unknown = [&] {
    return fail(ErrorKind::usage,
                "{}: expected structureless, crc16, crc32, toeplitz or xor; behind it :modulo, :threshold or "
                ":table, where groups are no power of two, and :qp, :class, :ingress or :polarised",
                text);
  };
  HashOptions options;
  auto rest = text;
  const auto next_word = [&rest] {
    const auto colon = rest.find(':');
    const auto word = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon);
    return word;
  };
  const auto family = find_word(kFamilies, next_word());
  if (!family) return unknown();
  options.family = *family;
  std::optional<Reduction> reduction;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const auto word = next_word();
    if (const auto named = find_word(kReductions, word)) {
      if (reduction.value_or(*named) != *named)
        return fail(ErrorKind::usage, "{}: one of :modulo, :threshold and :table, not two", text);
      options.reduction = *(reduction = named);
    } else if (const auto flag = find_word(kFlags, word))
      options.*(*flag) = true;
    else
      return unknown();
  }
  return options;
}

HashColumns crc_columns(std::uint32_t polynomial, unsigned width, bool reflected, HashedFields fields,
                        bool is_v6) {
  WEFT_CHECK(width == 16 || width == 32);
  const Message message(fields, is_v6);
  const std::uint32_t mask = width == 32 ? ~0U : (1U << width) - 1;
  HashColumns columns{};
  // The remainder of a single bit, for each place from the last on: each step further is one more shift.
  std::uint32_t remainder = polynomial & mask;
  const auto& bits = message.bits();
  for (std::size_t from_end = 0; from_end < bits.size(); ++from_end) {
    const std::size_t place = bits.size() - 1 - from_end;
    // Lowest bit first: within its byte a bit stands at the mirrored place.
    const auto& bit = bits[reflected ? place / 8 * 8 + 7 - place % 8 : place];
    if (bit) columns[*bit] = reflected ? reflect(remainder, width) : remainder;
    const bool carry = (remainder >> (width - 1) & 1U) != 0;
    remainder = (remainder << 1 & mask) ^ (carry ? polynomial : 0U);
  }
  return columns;
}

const std::vector<HashColumns>& known_crcs(unsigned width, bool is_v6) {
  WEFT_CHECK(width == 16 || width == 32);
  static const std::vector<HashColumns> known[] = {make_known_crcs(16, false), make_known_crcs(16, true),
                                                   make_known_crcs(32, false), make_known_crcs(32, true)};
  return known[(width == 32 ? 2 : 0) + (is_v6 ? 1 : 0)];
}

HashColumns fold_columns() {
  HashColumns columns{};
  for (std::size_t bit = 0; bit < FlowBits::kBits; ++bit) columns[bit] = 1U << bit % kFoldBits;
  return columns;
}

std::uint32_t hash_of(const HashColumns& columns, const FlowBits& flow) {
  std::uint32_t hash = 0;
  for (std::size_t w = 0; w < FlowBits::kWords; ++w)
    for (std::uint64_t word = flow.words[w]; word != 0; word &= word - 1)
      hash ^= columns[w * 64 + static_cast<std::size_t>(std::countr_zero(word))];
  return hash;
}

SwitchHash::SwitchHash(const HashOptions& options, std::uint64_t device_seed, bool is_v6)
    : seed_(device_seed), reduction_(options.reduction), width_(32) {
  SplitMix64 random(device_seed);
  switch (options.family) {
    case HashFamily::structureless:
      WEFT_CHECK(false);
      break;
    case HashFamily::crc16: {
      const auto draw = options.polarised ? 0 : random();
      width_ = 16;
      columns_ =
          shared_crc(kCrc16Polynomials[draw % kCrc16Polynomials.size()], 16, (draw >> 32 & 1U) != 0, is_v6);
      break;
    }
    case HashFamily::crc32:
      columns_ = shared_crc(kCrc32Polynomial, 32, true, is_v6);
      break;
    case HashFamily::toeplitz:
      columns_ = std::make_shared<const HashColumns>(
          toeplitz_columns(options.polarised ? kOneKey : random(), is_v6));
      break;
    case HashFamily::xor_fold:
      width_ = kFoldBits;
      columns_ = std::make_shared<const HashColumns>(fold_columns());
      break;
  }
  constant_ = turned(static_cast<std::uint32_t>(random() & ((std::uint64_t{1} << width_) - 1)), 0, width_);
  offset_ = options.polarised ? std::uint8_t{0} : static_cast<std::uint8_t>(random() % width_);
}

std::uint32_t SwitchHash::choose(const FlowBits& flow, std::uint32_t choices) const {
  const std::uint32_t hash = turned(hash_of(*columns_, flow) ^ constant_, offset_, width_);
  if (reduction_ == Reduction::table) {
    const std::uint32_t entry = hash & ((1U << kTableBits) - 1);
    return in_own_order(entry, 1U << kTableBits, seed_) % choices;
  }
  return in_own_order(bucket_of(hash, choices, reduction_ == Reduction::threshold, width_), choices, seed_);
}

}  // namespace weft::routing
