// Windows that an agent has sent and that nobody has acknowledged yet: a bounded number, each with a limit.
// Pure; thread-safe, for acknowledgements come in a thread of the library.
#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "probes/watch/seams.hpp"

namespace weft::bus {

class UnderWay {
 public:
  struct Limits {
    std::size_t windows = 256;
    std::size_t bytes = 4'000'000;
    Nanoseconds time = std::chrono::seconds(5);
  };
  explicit UnderWay(const Limits& limits) : limits_(limits) {}

  /// Its number, under which the answer is told. Error: conflict (there is no room).
  Result<std::uint64_t> add(watch::MessageId id, std::size_t size, Nanoseconds now);
  /// It was not sent after all, and nobody is told.
  void take_back(std::uint64_t number);
  /// What the server answered: `kept`: its stream has it. Of a number that is not under way: nothing.
  void answer(std::uint64_t number, bool kept);
  /// The connection ended: no answer comes any more.
  void lose_all();

  std::vector<watch::MessageId> acknowledged();
  /// Also those whose limit is over.
  std::vector<watch::MessageId> failed(Nanoseconds now);

 private:
  struct Sent {
    watch::MessageId id;
    std::size_t size = 0;
    Nanoseconds until{};
  };
  using At = std::map<std::uint64_t, Sent>::iterator;
  void end(At sent, std::vector<watch::MessageId>& among);

  const Limits limits_;
  std::mutex mutex_;
  std::map<std::uint64_t, Sent> sent_;  // by number, so by time
  std::uint64_t last_number_ = 0;
  std::size_t bytes_ = 0;
  std::vector<watch::MessageId> acknowledged_;
  std::vector<watch::MessageId> failed_;
};

/// Whether a stream's answer to a message (PubAck, JSON) says that this stream keeps it.
bool is_kept(std::string_view answer, std::string_view stream);

}  // namespace weft::bus
