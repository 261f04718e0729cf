// How the engines of one run speak to each other beside the fabric: queue pairs have to learn each other's
// numbers before a packet can go. PeerExchange is given to an engine; PeerService is what the engine gives in
// return.
#pragma once

#include <string>
#include <string_view>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::datapath {

class PeerExchange {
 public:
  virtual ~PeerExchange() = default;
  /// Asks the engine that serves NIC `to`; blocks until it answers, `limit` at most. Any thread. Errors: what
  /// the engine answered, or that nobody did.
  virtual Result<std::string> ask(PortId to, std::string_view question, Nanoseconds limit) = 0;
};

class PeerService {
 public:
  virtual ~PeerService() = default;
  /// Before anything is asked of or by the engine; `exchange` outlives it.
  virtual void meet(PeerExchange& exchange) = 0;
  /// Answers the engine of NIC `from`. Must not ask in turn.
  virtual Result<std::string> answer(PortId from, std::string_view question) = 0;
};

}  // namespace weft::datapath
