// Reads a stream of JetStream in order, each message once, by pulling batches from a consumer of its own that
// needs no acknowledgements: what counts is the reader's position. A message that went missing on the way (a
// connection that broke), or a server that forgot the consumer, makes a new one behind the last that came.
// One thread calls read(); heard() and lost() come from others.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/kept_connection.hpp"

namespace weft::bus {

class StreamReader {
 public:
  /// `inbox`: where pulled messages come: the connection listens to `inbox`.* for heard().
  StreamReader(std::string_view stream, std::string filter, std::string inbox, std::uint64_t behind);

  void heard(BusMessage message);
  void lost();

  /// Messages behind the position, at most `most`; waits for the first until `limit` is over. Of a limit of
  /// zero: those that the stream has now.
  Result<std::vector<StreamMessage>> read(KeptConnection& connection, std::size_t most, Nanoseconds limit);
  /// The sequence of the last message given.
  std::uint64_t position() const { return position_; }
  void move_to(std::uint64_t position);
  /// Moves behind all that the stream has now.
  Result<void> skip(KeptConnection& connection);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  Result<void> make_consumer(KeptConnection& connection);
  Result<void> pull(KeptConnection& connection, bool wait, std::size_t most);
  void take(std::vector<StreamMessage>& into, std::size_t most);  // with the lock
  void drop_consumer();                                           // with the lock

  const std::string stream_;
  const std::string filter_;
  const std::string inbox_;
  std::uint64_t position_;
  std::uint64_t pulls_ = 0;
  TimePoint pulled_at_{};
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::string consumer_;        // empty: there is none
  std::uint64_t expected_ = 1;  // of the consumer, the number of the next message
  std::size_t open_ = 0;        // messages asked for that may still come
  std::deque<BusMessage> queue_;
};

}  // namespace weft::bus
