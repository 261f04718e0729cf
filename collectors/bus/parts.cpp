#include "collectors/bus/parts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "topology/base/bytes.hpp"
#include "topology/base/check.hpp"

namespace weft::bus {
namespace {

constexpr std::size_t kHeader = 13;
constexpr std::size_t kNumberAt = 1;
constexpr std::size_t kIndexAt = 5;
constexpr std::size_t kCountAt = 9;
constexpr std::size_t kCost = 256;  // of an unfinished message beside its bytes

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
  const auto sender = senders_.try_emplace(from).first;
  auto whole = take(sender->second, std::move(bytes));
  if (sender->second.begun.empty()) senders_.erase(sender);
  while (kept_ > limits_.in_all) {
    const auto kept = [](const auto& each) { return each.second.kept; };
    const auto most = std::ranges::max_element(senders_, {}, kept);
    kept_ -= most->second.kept;
    senders_.erase(most);
  }
  return whole;
}

std::optional<std::string> PartJoiner::take(Sender& sender, std::string bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  const auto number = load_be32(raw, kNumberAt);
  const auto index = load_be32(raw, kIndexAt);
  const auto count = load_be32(raw, kCountAt);
  if (index >= count) return std::nullopt;
  if (index == 0) {
    forget(sender, number);
    sender.begun[number] = Begun{count, 0, {}};
    sender.kept += kCost;
    kept_ += kCost;
  }
  const auto found = sender.begun.find(number);
  if (found == sender.begun.end()) return std::nullopt;
  Begun& message = found->second;
  const std::size_t more = bytes.size() - kHeader;
  if (message.next != index || message.count != count || message.bytes.size() + more > limits_.message) {
    forget(sender, number);
    return std::nullopt;
  }
  message.bytes.append(bytes, kHeader);
  sender.kept += more;
  kept_ += more;
  if (++message.next < count) {
    make_room(sender, number);
    return std::nullopt;
  }
  const std::size_t size = message.bytes.size();
  std::string whole = std::exchange(message.bytes, {});
  sender.kept -= size;
  kept_ -= size;
  forget(sender, number);
  return whole;
}

/// For `number`, to which something was added: others of its sender are given up, those begun first first.
void PartJoiner::make_room(Sender& sender, std::uint32_t number) {
  while (sender.kept > limits_.of_sender && sender.begun.size() > 1) {
    const auto first = sender.begun.begin();
    forget(sender, first->first == number ? std::next(first)->first : first->first);
  }
}

void PartJoiner::forget(Sender& sender, std::uint32_t number) {
  const auto found = sender.begun.find(number);
  if (found == sender.begun.end()) return;
  const std::size_t less = kCost + found->second.bytes.size();
  sender.kept -= less;
  kept_ -= less;
  sender.begun.erase(found);
}

}  // namespace weft::bus
