// The ProbeEngine of an InfiniBand NIC: probes are management datagrams, a path label is the destination LID.
// A thread of its own answers others' probes as long as the engine lives.
#pragma once

#include <functional>
#include <memory>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/umad/umad_mads.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::umad {

/// What opens the datagrams of a port.
using OpenMads = std::function<Result<std::unique_ptr<mad::Mads>>(const UmadPort&)>;

/// trace() is not supported: on InfiniBand the paths are read from the switches' tables.
Result<std::unique_ptr<datapath::ProbeEngine>> open_umad_engine(const UmadPort& port,
                                                                const packet::RunSecrets& secrets, PortId own,
                                                                const OpenMads& open = open_umad);

}  // namespace weft::umad
