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

namespace weft::bus {

/// `message` as it is where it fits `most` bytes, else its parts. `number` tells apart messages of one sender
/// that travel at the same time.
std::vector<std::string> cut_into_parts(std::string_view message, std::uint32_t number, std::size_t most);

/// In bytes; each unfinished message counts as 256 more.
struct JoinLimits {
  std::size_t message;    // of one
  std::size_t of_sender;  // of all that one sender has not finished: at least one message
  std::size_t in_all;     // of all senders
};

/// Puts the messages of many senders together. A message of which a part is lost, or whose parts come in
/// another order, is dropped: who waits for it has a limit. Where a sender keeps more than it may, its oldest
/// are given up; where all together do, those of the sender who keeps most, so that one who never finishes
/// takes nobody else's place.
class PartJoiner {
 public:
  explicit PartJoiner(const JoinLimits& limits) : limits_(limits) {}

  /// The message that is whole now; absent: more is to come, or what came was no use.
  std::optional<std::string> add(const std::string& from, std::string bytes);
  /// Of all unfinished messages, as the limits count them.
  std::size_t kept() const { return kept_; }

 private:
  struct Begun {
    std::uint32_t count = 0;
    std::uint32_t next = 0;
    std::string bytes;
  };
  struct Sender {
    std::map<std::uint32_t, Begun> begun;  // by number
    std::size_t kept = 0;
  };
  std::optional<std::string> take(Sender& sender, std::string bytes);
  void make_room(Sender& sender, std::uint32_t number);
  void forget(Sender& sender, std::uint32_t number);

  JoinLimits limits_;
  std::map<std::string, Sender> senders_;  // who has begun something
  std::size_t kept_ = 0;
};

}  // namespace weft::bus
