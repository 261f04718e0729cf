// Messages that are longer than a server takes at once, cut into parts and put together again. Pure.
//
// A part is: a zero byte, the message's number, the part's index and the count of parts (4 bytes each,
// network order), and its share of the bytes. What does not begin with a zero byte is a whole message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// `message` as it is where it fits `most` bytes, else its parts. `number` tells apart messages of one sender
/// that travel at the same time.
std::vector<std::string> cut_into_parts(std::string_view message, std::uint32_t number, std::size_t most);

/// Puts the messages of many senders together. A message of which a part is lost, or whose parts come in
/// another order, is dropped: who waits for it has a limit.
class PartJoiner {
 public:
  /// Messages longer than `most` are dropped.
  explicit PartJoiner(std::size_t most) : most_(most) {}

  /// The message that is whole now; absent: more is to come, or what came was no use.
  std::optional<std::string> add(const std::string& from, std::string bytes);

 private:
  struct Begun {
    std::uint32_t count = 0;
    std::uint32_t next = 0;
    std::string bytes;
  };
  using Key = std::pair<std::string, std::uint32_t>;
  void forget_others_of(const std::string& from);

  std::size_t most_;
  std::map<Key, Begun> begun_;
};

}  // namespace weft
