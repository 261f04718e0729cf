// Standing probes of InfiniBand: management datagrams of a class of weft's own, in frames of a mad::MadPort.
// The label is the destination LID. Behind the header of all probes the datagram carries the GIDs of both
// ports and its label, which the authenticator covers (docs/wire.md): the datagram itself tells LIDs alone.
#pragma once

#include "probes/watch/probe_codec.hpp"

namespace weft::watch {

/// It reads no probe whose echo would go to another port than it came from.
const ProbeCodec& mad_codec();

}  // namespace weft::watch
