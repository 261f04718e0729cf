// The label of a queue pair, its owner's or not: as a flow label or a DLID in its address vector, and how it
// changes while it lives. It needs libibverbs' functions and no device of ours: an interposer in somebody
// else's program (balancer/nccl) uses it too.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "probes/rdma/verbs_library.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/model/infiniband.hpp"
#include "topology/model/path.hpp"

namespace weft::rdma {

/// How an InfiniBand label, a destination LID, becomes the address vector of a queue pair: a port whose LMC
/// is m answers to 2^m LIDs from its base on, each with its own route through the switches.
struct DlidRoute {
  Lid dlid;
  std::uint8_t src_path_bits = 0;  // of our own LIDs, the one that packets say they come from
  friend bool operator==(const DlidRoute&, const DlidRoute&) = default;
};

/// `label`: of the packets to the peer (absent: its base LID); `back_label`: of the peer's packets to us, so
/// that they come to the LID ours come from (absent: our base). Errors: invalid_input (a label that is none
/// of the port's LIDs; says which it has).
Result<DlidRoute> dlid_route(LidRange peer, std::optional<PathLabel> label, LidRange own,
                             std::optional<PathLabel> back_label);

/// ibv_query_port, by the context's own table. 0, or errno's value.
int ask_port(ibv_context* context, std::uint8_t port, ibv_port_attr& told);

enum class LinkKind : std::uint8_t { ethernet, infiniband };
/// Of a port, as its device says: a LID in an address vector tells nothing, a program may leave any on RoCE.
/// Error: absent (the device does not say).
Result<LinkKind> link_of(ibv_context* context, std::uint8_t port);

/// Changes the label in the address vector of a queue pair that is connected. `peer`: on InfiniBand the LIDs
/// of the far port. Error: invalid_input (a label that the link does not have; InfiniBand without LIDs).
Result<void> set_label(ibv_ah_attr& to, LinkKind link, PathLabel label, std::optional<LidRange> peer);

/// ibv_modify_qp; an error says what the queue pair does not become (`to`).
Result<void> modify_qp(const VerbsLibrary& library, ibv_qp* qp, ibv_qp_attr& attributes, int mask,
                       const char* to);
/// Its state and address vector.
Result<ibv_qp_attr> state_of_qp(const VerbsLibrary& library, ibv_qp* qp);

/// A queue pair in service on RoCE gets another source port by the device's own call, whatever is under way.
/// False: the device has none, or refused.
bool relabel_by_device(const VerbsLibrary& library, ibv_qp* qp, PathLabel label);

/// The drained way of relabel() in its steps, for who cannot wait within it. To SQD; the label is looked at
/// before. has_drained(): what was under way has ended. resume(): takes the label (absent: keeps its own) and
/// sends again, also where the label is refused. Errors as relabel.
inline constexpr std::chrono::milliseconds kMaxDrain{1000};
Result<void> start_drain(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                         std::optional<LidRange> peer);
Result<bool> has_drained(const VerbsLibrary& library, ibv_qp* qp);
Result<void> resume(const VerbsLibrary& library, ibv_qp* qp, std::optional<PathLabel> label,
                    std::optional<LidRange> peer);

/// Moves a connected queue pair (RC, UC) to another label while it lives, and says by which way: by the
/// device's own call where there is one, else by the drained state (SQD), which waits for what is under way.
/// The queue pair may be somebody else's: everything but the label stays as the device says that it is. Until
/// this returns its owner neither changes nor destroys it, and what he posts may wait. `peer`: on InfiniBand
/// the LIDs of the far port; absent on RoCE. Errors: invalid_input (the label), conflict (it is not ready to
/// send), not_supported (the device does neither; a queue pair of datagrams), timeout (it does not drain).
/// soft-RoCE 6.1 may not where work is under way: let that end before.
Result<std::string> relabel(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                            std::optional<LidRange> peer = std::nullopt);

}  // namespace weft::rdma
