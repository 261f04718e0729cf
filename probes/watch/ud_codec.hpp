// Standing probes over queue pairs: datagrams (UD) of RoCE, in packet::UdFrame for a verbs::UdPort. The label
// is the UDP source port. Behind the header of all probes the payload carries the addresses of both NICs and
// its label, which the authenticator covers (docs/wire.md): a device shows who received it neither.
#pragma once

#include "probes/watch/probe_codec.hpp"

namespace weft::watch {

const ProbeCodec& ud_codec();

}  // namespace weft::watch
