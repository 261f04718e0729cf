#include "topology/host/rdma_resources.hpp"

#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "topology/base/outside_text.hpp"
#include "topology/host/netlink_attributes.hpp"

namespace weft::host {
namespace {

constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxQps = 100'000;       // of a host, as weft.qps/1 has room for
constexpr std::size_t kMaxUsers = 10'000;      // open devices of processes
constexpr std::uint32_t kMaxQpn = 0xFFFFFF;    // 24 bits on the wire
constexpr std::size_t kMaxDeviceName = 64;     // IB_DEVICE_NAME_MAX
constexpr std::uint32_t kMaxThread = 1 << 22;  // PID_MAX_LIMIT

constexpr auto kStates =
    std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"});

constexpr std::uint16_t type_of(int command) {
  return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

/// Of exactly its size: another one is another attribute than we know.
template <class T>
std::optional<T> number_in(ByteSpan payload) {
  return payload.size() == sizeof(T) ? value_at<T>(payload, 0) : std::nullopt;
}

std::string text_in(ByteSpan payload) {
  std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  return outside_text(text.substr(0, std::min(text.find('\0'), kMaxDeviceName)));
}

std::optional<std::uint32_t> thread_in(ByteSpan payload) {
  const auto thread = number_in<std::uint32_t>(payload);
  return thread && *thread > 0 && *thread <= kMaxThread ? thread : std::nullopt;
}

void take_device(ByteSpan attributes, RdmaAnswer& answer) {
  RdmaDevice device;
  bool has_index = false;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == RDMA_NLDEV_ATTR_DEV_INDEX)
      if (const auto index = number_in<std::uint32_t>(payload)) device.index = *index, has_index = true;
    if (type == RDMA_NLDEV_ATTR_DEV_NAME) device.name = text_in(payload);
    if (type == RDMA_NLDEV_ATTR_DEV_PROTOCOL) device.is_roce = text_in(payload) == "roce";
  });
  if (has_index && !device.name.empty() && answer.devices.size() < kMaxDevices)
    answer.devices.push_back(std::move(device));
}

/// Calls `take(device, entry)` for each entry of the table of a message.
template <class Take>
void for_each_entry(ByteSpan attributes, int table, int entry, Take take) {
  std::string device;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == RDMA_NLDEV_ATTR_DEV_NAME) device = text_in(payload);
  });
  if (device.empty()) return;
  for_each_attribute(attributes, [&](int type, ByteSpan entries) {
    if (type != table) return;
    for_each_attribute(entries, [&](int kind, ByteSpan one) {
      if (kind == entry) take(device, one);
    });
  });
}

/// Absent: of the kernel, or with a value that cannot be.
std::optional<RdmaQp> qp_in(const std::string& device, ByteSpan entry) {
  RdmaQp qp{.device = device};
  std::optional<std::uint32_t> number, peer;
  std::optional<std::uint8_t> kind, state;
  bool is_of_kernel = false;
  for_each_attribute(entry, [&](int type, ByteSpan payload) {
    if (type == RDMA_NLDEV_ATTR_RES_LQPN) number = number_in<std::uint32_t>(payload);
    if (type == RDMA_NLDEV_ATTR_RES_RQPN) peer = number_in<std::uint32_t>(payload);
    if (type == RDMA_NLDEV_ATTR_RES_TYPE) kind = number_in<std::uint8_t>(payload);
    if (type == RDMA_NLDEV_ATTR_RES_STATE) state = number_in<std::uint8_t>(payload);
    if (type == RDMA_NLDEV_ATTR_RES_PID) qp.thread = thread_in(payload);
    if (type == RDMA_NLDEV_ATTR_RES_KERN_NAME) is_of_kernel = true;
  });
  if (is_of_kernel || !number || *number > kMaxQpn || !kind || !state || *state >= kStates.size())
    return std::nullopt;
  qp.number = QpNum(*number);
  if (*kind == IB_UVERBS_QPT_RC) qp.type = RdmaQpType::rc;
  if (*kind == IB_UVERBS_QPT_UC) qp.type = RdmaQpType::uc;
  qp.state = static_cast<RdmaQpState>(*state);
  // Before RTR it has no peer, whatever stands there; no connection leads to queue pair 0.
  if (peer && *peer > 0 && *peer <= kMaxQpn && qp.state >= RdmaQpState::rtr) qp.peer = QpNum(*peer);
  return qp;
}

void take_qps(ByteSpan attributes, RdmaAnswer& answer) {
  for_each_entry(attributes, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
                 [&](const std::string& device, ByteSpan entry) {
                   auto qp = qp_in(device, entry);
                   if (qp && answer.qps.size() == kMaxQps)
                     ++answer.left_out;
                   else if (qp)
                     answer.qps.push_back(std::move(*qp));
                 });
}

void take_users(ByteSpan attributes, RdmaAnswer& answer) {
  for_each_entry(attributes, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
                 [&](const std::string& device, ByteSpan entry) {
                   std::optional<std::uint32_t> thread;
                   for_each_attribute(entry, [&](int type, ByteSpan payload) {
                     if (type == RDMA_NLDEV_ATTR_RES_PID) thread = thread_in(payload);
                   });
                   if (thread && answer.users.size() < kMaxUsers) answer.users.push_back({device, *thread});
                 });
}

/// Of NLMSG_ERROR and NLMSG_DONE: 0, or an errno below it.
Result<void> outcome_in(ByteSpan payload) {
  const auto outcome = value_at<std::int32_t>(payload, 0);
  if (!outcome) return fail(ErrorKind::invalid_input, "the kernel's answer is cut short");
  if (*outcome >= 0) return {};
  const int number = *outcome > -4096 ? -*outcome : EPROTO;
  return fail(number == EPERM || number == EACCES ? ErrorKind::permission : ErrorKind::absent,
              "the kernel refuses: {}", std::strerror(number));
}

}  // namespace

std::string_view to_string(RdmaQpState state) { return kStates[static_cast<std::size_t>(state)]; }

Result<void> take_rdma_datagram(ByteSpan datagram, RdmaAnswer& answer) {
  while (!datagram.empty() && !answer.is_whole) {
    const auto header = value_at<nlmsghdr>(datagram, 0);
    if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > datagram.size())
      return fail(ErrorKind::invalid_input, "the kernel's answer is cut short");
    const auto payload = datagram.subspan(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN);
    if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
      WEFT_TRY_VOID(outcome_in(payload));
      answer.is_whole = true;
    }
    if (header->nlmsg_type == type_of(RDMA_NLDEV_CMD_GET)) take_device(payload, answer);
    if (header->nlmsg_type == type_of(RDMA_NLDEV_CMD_RES_QP_GET)) take_qps(payload, answer);
    if (header->nlmsg_type == type_of(RDMA_NLDEV_CMD_RES_CTX_GET)) take_users(payload, answer);
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), datagram.size()));
  }
  return {};
}

}  // namespace weft::host
