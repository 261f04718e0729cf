// Which engine the NICs of a run send by, where that is left open. Queue pairs and raw packets do not answer
// each other: an RDMA device takes what raw packets are answered by, and a NIC without one has no queue pair.
// So one engine serves the whole run, and who cannot take part in it is named. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/session/messages.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {

struct OfferOfNic {
  PortId nic;
  NicOffer offer;
};

struct EngineChoice {
  struct Unfit {
    PortId nic;
    std::string why;
  };
  std::string_view engine;  // kVerbsEngine or kRawEngine
  std::string why;          // in words: "each of the 16 NICs has an RDMA device"
  std::vector<Unfit> unfit;
};

/// Queue pairs where as many NICs have an RDMA device as have none, or more: that is what jobs use there, and
/// raw packets would measure nothing of it. Else raw packets. The others are unfit.
EngineChoice choose_engine(const Fabric& fabric, const std::vector<OfferOfNic>& offers);

}  // namespace weft::session
