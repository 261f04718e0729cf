#include "probes/rdma/relabel.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
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

constexpr std::chrono::milliseconds kDrainPoll{1};

const char* name_of(const VerbsLibrary& library, const ibv_qp* qp) {
  return library.get_device_name(qp->context->device);
}

}  // namespace

int ask_port(ibv_context* context, std::uint8_t port, ibv_port_attr& told) {
  // As verbs_get_ctx_op(), which is a GNU expression: older providers have a shorter verbs_context, which
  // lacks members at its beginning.
  const verbs_context* const ops = verbs_get_ctx(context);
  const bool has_call = ops != nullptr && ops->sz >= sizeof *ops - offsetof(verbs_context, query_port) &&
                        ops->query_port != nullptr;
  return has_call ? ops->query_port(context, port, &told, sizeof told) : ENOSYS;
}

Result<LinkKind> link_of(ibv_context* context, std::uint8_t port) {
  ibv_port_attr about{};
  if (const int error = ask_port(context, port, about); error != 0)
    return fail(ErrorKind::absent, "cannot ask for the link of port {}: {}", port, std::strerror(error));
  return about.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkKind::ethernet : LinkKind::infiniband;
}

Result<void> set_label(ibv_ah_attr& to, LinkKind link, PathLabel label, std::optional<LidRange> peer) {
  if (link == LinkKind::infiniband) {
    if (!peer)
      return fail(ErrorKind::invalid_input, "label {}: the LIDs of the peer's port are needed on InfiniBand",
                  label.value());
    WEFT_TRY(const auto bits, path_bits(*peer, label));
    to.dlid = static_cast<std::uint16_t>(peer->base.value() + bits);
    return {};
  }
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

namespace {

/// The label in an address vector as the device has it.
Result<ibv_qp_attr> with_label(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                               std::optional<LidRange> peer) {
  WEFT_TRY(auto now, state_of_qp(library, qp));
  WEFT_TRY(const auto link, link_of(qp->context, now.ah_attr.port_num));
  WEFT_TRY_VOID(set_label(now.ah_attr, link, label, peer));
  return now;
}

Result<void> check_move(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                        std::optional<LidRange> peer) {
  if (qp->qp_type == IBV_QPT_UD)
    return fail(ErrorKind::not_supported, "{}: datagrams have the label of their address handle",
                name_of(library, qp));
  WEFT_TRY(const auto now, state_of_qp(library, qp));
  if (now.qp_state != IBV_QPS_RTS)
    return fail(ErrorKind::conflict, "{}: queue pair {} is not ready to send", name_of(library, qp),
                qp->qp_num);
  WEFT_TRY_VOID(with_label(library, qp, label, peer));
  return {};
}

}  // namespace

Result<void> start_drain(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                         std::optional<LidRange> peer) {
  WEFT_TRY_VOID(check_move(library, qp, label, peer));
  ibv_qp_attr drained{};
  drained.qp_state = IBV_QPS_SQD;
  return modify_qp(library, qp, drained, IBV_QP_STATE, "drained");
}

Result<bool> has_drained(const VerbsLibrary& library, ibv_qp* qp) {
  WEFT_TRY(const auto now, state_of_qp(library, qp));
  return now.sq_draining == 0;
}

Result<void> resume(const VerbsLibrary& library, ibv_qp* qp, std::optional<PathLabel> label,
                    std::optional<LidRange> peer) {
  Result<void> changed;
  if (label) {
    auto wanted = with_label(library, qp, *label, peer);
    ibv_qp_attr vector{};
    if (wanted) vector.ah_attr = wanted->ah_attr;
    changed = wanted ? modify_qp(library, qp, vector, IBV_QP_AV, "one with another label")
                     : Result<void>(pass_on(wanted));
  }
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  const auto back = modify_qp(library, qp, send, IBV_QP_STATE, "ready to send again");
  return changed ? back : changed;
}

Result<std::string> relabel(const VerbsLibrary& library, ibv_qp* qp, PathLabel label,
                            std::optional<LidRange> peer) {
  WEFT_TRY_VOID(check_move(library, qp, label, peer));
  if (!peer && relabel_by_device(library, qp, label)) return "by the device's own call";
  WEFT_TRY_VOID(start_drain(library, qp, label, peer));
  const auto until = std::chrono::steady_clock::now() + kMaxDrain;
  auto drained = has_drained(library, qp);
  while (drained && !*drained && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kDrainPoll);
    drained = has_drained(library, qp);
  }
  const bool is_at_rest = drained && *drained;
  // Nothing but its state may change before what was under way has ended.
  const auto resumed = resume(library, qp, is_at_rest ? std::optional(label) : std::nullopt, peer);
  if (!drained) return pass_on(drained);
  if (!is_at_rest) return fail(ErrorKind::timeout, "{}: a queue pair does not drain", name_of(library, qp));
  WEFT_TRY_VOID(resumed);
  return "by the drained state";
}

}  // namespace weft::rdma
