// KeptConnection: a connection to a NATS server and a thread that makes it again whenever it is lost: the
// server was down, the network was interrupted, or the server refused the key (the NATS library cannot send a
// signature that begins with a zero byte, one of 256). While there is no connection, sending fails at once.
// Thread-safe. Handlers are called by threads of the library, one call at a time for each subscription.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/units.hpp"

namespace weft::bus {

struct BusMessage {
  std::string subject;
  std::string reply;  // empty: none is expected
  std::string bytes;
  std::string status;  // of the server's own words, which have no bytes: "503" (nobody serves), "404", "408"
};

struct Listening {
  std::string subject;  // may have wildcards
  std::function<void(BusMessage)> heard;
  /// The server may not let us listen, as one that was set up by an older weft: then nothing is heard there.
  bool may_be_refused = false;
};

/// What a message has before its bytes: "Nats-Msg-Id" and the like.
using Headers = std::vector<std::pair<std::string, std::string>>;

class KeptConnection {
 public:
  /// `name`: as the server's log shows it. `inbox`: the subjects under which answers come. `lost`: called
  /// after a connection has ended, before the next.
  KeptConnection(
      NatsAddress address, std::string name, std::string inbox, std::vector<Listening> listening,
      std::function<void()> lost = [] {});
  KeptConnection(const KeptConnection&) = delete;
  KeptConnection& operator=(const KeptConnection&) = delete;
  ~KeptConnection();

  /// Whether it stands, and the server knows what is listened to. Error: why the last attempt failed; a key
  /// that was refused is tried again before that is said.
  Result<void> wait_until_there(Nanoseconds limit);
  /// Errors: absent (there is none now, and why), invalid_input (longer than the server takes).
  Result<void> publish(const std::string& subject, ByteSpan bytes, const std::string& reply = {},
                       const Headers& headers = {});
  /// Sends and waits for one answer. Errors: those of publish, timeout, not_supported (nobody serves it).
  Result<BusMessage> request(const std::string& subject, std::string_view bytes, Nanoseconds limit,
                             const Headers& headers = {});
  /// Waits until all that was published has left and the server has seen it.
  Result<void> flush(Nanoseconds limit);
  /// A subject for answers, of which there is no other.
  std::string new_inbox(std::string_view purpose);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::bus
