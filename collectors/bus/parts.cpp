#include "collectors/bus/parts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "topology/base/bytes.hpp"
#include "topology/base/check.hpp"

namespace weft {
namespace {

constexpr std::size_t kHeader = 13;
constexpr std::size_t kNumberAt = 1;
constexpr std::size_t kIndexAt = 5;
constexpr std::size_t kCountAt = 9;
/// One a NIC's thread, and NICs are few: more unfinished messages of one sender are a sender gone wrong.
constexpr std::size_t kMostBegun = 64;

std::string header(std::uint32_t number, std::uint32_t index, std::uint32_t count) {
  std::array<std::byte, kHeader> bytes{};
  store_be32(bytes, kNumberAt, number);
  store_be32(bytes, kIndexAt, index);
  store_be32(bytes, kCountAt, count);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> cut_into_parts(std::string_view message, std::uint32_t number, std::size_t most) {
  if (message.size() <= most && !message.starts_with('\0')) return {std::string(message)};
  WEFT_CHECK(most > kHeader);
  const std::size_t share = most - kHeader;
  const std::size_t count = std::max<std::size_t>((message.size() + share - 1) / share, 1);
  WEFT_CHECK(count <= std::numeric_limits<std::uint32_t>::max());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i)
    parts.push_back(header(number, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(count)) +
                    std::string(message.substr(i * share, share)));
  return parts;
}

std::optional<std::string> PartJoiner::add(const std::string& from, std::string bytes) {
  if (!bytes.starts_with('\0')) return bytes;
  if (bytes.size() < kHeader) return std::nullopt;
  const auto raw = std::as_bytes(std::span(bytes));
  const auto index = load_be32(raw, kIndexAt);
  const auto count = load_be32(raw, kCountAt);
  const Key key(from, load_be32(raw, kNumberAt));
  if (index >= count) return std::nullopt;
  if (index == 0) {
    if (!begun_.contains(key)) forget_others_of(from);
    begun_[key] = Begun{count, 0, {}};
  }
  const auto found = begun_.find(key);
  if (found == begun_.end()) return std::nullopt;
  Begun& message = found->second;
  if (message.next != index || message.count != count ||
      message.bytes.size() + bytes.size() > most_ + kHeader) {
    begun_.erase(found);
    return std::nullopt;
  }
  message.bytes.append(bytes, kHeader);
  if (++message.next < count) return std::nullopt;
  std::string whole = std::move(message.bytes);
  begun_.erase(found);
  return whole;
}

/// Room for one more of this sender: what it began with the lowest numbers is given up.
void PartJoiner::forget_others_of(const std::string& from) {
  const auto first = begun_.lower_bound({from, 0});
  const auto last = begun_.upper_bound({from, std::numeric_limits<std::uint32_t>::max()});
  if (static_cast<std::size_t>(std::distance(first, last)) >= kMostBegun) begun_.erase(first);
}

}  // namespace weft
