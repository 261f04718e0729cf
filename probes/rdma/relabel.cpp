#include "probes/rdma/relabel.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "probes/packet/roce.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint32_t kMaxPort = 65'535;

constexpr std::uint8_t kMaxLmc = 7;  // IBTA vol. 1, PortInfo: three bits

/// The path bits by which a label names one of a port's LIDs.
Result<std::uint8_t> path_bits(LidRange port, std::optional<PathLabel> label) {
  if (port.lmc > kMaxLmc) return fail(ErrorKind::invalid_input, "an LMC of {}: at most 7", port.lmc);
  if (!label) return std::uint8_t{0};
  const std::uint32_t first = port.base.value();
  if (label->value() < first || label->value() >= port.end())
    return fail(ErrorKind::invalid_input, "label {} is no LID of the port: it has {} to {}", label->value(),
                first, port.end() - 1);
  return static_cast<std::uint8_t>(label->value() - first);
}

constexpr std::chrono::milliseconds kMaxDrain{1000};
constexpr std::chrono::milliseconds kDrainPoll{1};

const char* name_of(const VerbsLibrary& library, const ibv_qp* qp) {
  return library.get_device_name(qp->context->device);
}

/// Nothing else may change before what was under way has ended.
Result<void> await_drained(const VerbsLibrary& library, ibv_qp* qp) {
  const auto until = std::chrono::steady_clock::now() + kMaxDrain;
  while (std::chrono::steady_clock::now() < until) {
    WEFT_TRY(const auto now, state_of_qp(library, qp));
    if (now.sq_draining == 0) return {};
    std::this_thread::sleep_for(kDrainPoll);
  }
  return fail(ErrorKind::timeout, "{}: a queue pair does not drain", name_of(library, qp));
}

}  // namespace

Result<void> set_label(ibv_ah_attr& to, PathLabel label, std::optional<LidRange> peer) {
  if (peer) {
    WEFT_TRY(const auto bits, path_bits(*peer, label));
    to.dlid = static_cast<std::uint16_t>(peer->base.value() + bits);
    return {};
  }
  if (to.dlid != 0)  // 0 on RoCE
    return fail(ErrorKind::invalid_input, "label {}: the LIDs of the peer's port are needed on InfiniBand",
                label.value());
  if (label.value() > kMaxPort)
    return fail(ErrorKind::invalid_input, "label {} is no UDP port", label.value());
  to.grh.flow_label = packet::flow_label_for(UdpPort(static_cast<std::uint16_t>(label.value())));
  return {};
}

Result<DlidRoute> dlid_route(LidRange peer, std::optional<PathLabel> label, LidRange own,
                             std::optional<PathLabel> back_label) {
  WEFT_TRY(const auto there, path_bits(peer, label));
  WEFT_TRY(const auto here, path_bits(own, back_label));
  return DlidRoute{Lid(static_cast<std::uint16_t>(peer.base.value() + there)), here};
}

Result<void> modify_qp(const VerbsLibrary& library, ibv_qp* qp, ibv_qp_attr& attributes, int mask,
                       const char* to) {
  const int error = library.modify_qp(qp, &attributes, mask);
  if (error == 0) return {};
  const bool no_way = error == ENETUNREACH || error == EHOSTUNREACH;
  return fail(ErrorKind::not_supported, "{}: a queue pair does not become {}: {}{}", name_of(library, qp), to,
              std::strerror(error),
              no_way ? ": is there a route from the GID that is used (--gid-index) to the peer's?" : "");
}

Result<ibv_qp_attr> state_of_qp(const VerbsLibrary& library, ibv_qp* qp) {
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  if (const int error = library.query_qp(qp, &now, IBV_QP_STATE | IBV_QP_AV, &made_with); error != 0)
    return fail(ErrorKind::internal, "{}: cannot ask queue pair {}: {}", name_of(library, qp), qp->qp_num,
                std::strerror(error));
  return now;
}

bool relabel_by_device(const VerbsLibrary& library, ibv_qp* qp, PathLabel label) {
  return library.modify_qp_udp_sport != nullptr && library.is_mlx5 != nullptr &&
         library.is_mlx5(qp->context->device) && label.value() <= kMaxPort &&
         library.modify_qp_udp_sport(qp, static_cast<std::uint16_t>(label.value())) == 0;
}

Result<std::string> relabel(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                            std::optional<LidRange> peer) {
  WEFT_TRY(auto now, state_of_qp(library, qp));
  if (qp->qp_type == IBV_QPT_UD)
    return fail(ErrorKind::not_supported, "{}: datagrams have the label of their address handle",
                name_of(library, qp));
  if (now.qp_state != IBV_QPS_RTS)
    return fail(ErrorKind::conflict, "{}: queue pair {} is not ready to send", name_of(library, qp),
                qp->qp_num);
  WEFT_TRY_VOID(set_label(now.ah_attr, label, peer));
  if (!peer && relabel_by_device(library, qp, label)) return "by the device's own call";
  ibv_qp_attr drained{};
  drained.qp_state = IBV_QPS_SQD;
  WEFT_TRY_VOID(modify_qp(library, qp, drained, IBV_QP_STATE, "drained"));
  auto moved = await_drained(library, qp);
  ibv_qp_attr with_label{};
  with_label.ah_attr = now.ah_attr;
  if (moved) moved = modify_qp(library, qp, with_label, IBV_QP_AV, "one with another label");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  if (const auto back = modify_qp(library, qp, send, IBV_QP_STATE, "ready to send again"); !back && moved)
    return pass_on(back);
  if (!moved) return pass_on(moved);
  return "by the drained state";
}

}  // namespace weft::rdma
