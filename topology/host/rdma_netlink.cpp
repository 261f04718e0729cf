// The kernel's list of RDMA resources, asked by netlink (NETLINK_RDMA), and whose they are, by /proc.
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/host/netlink_socket.hpp"
#include "topology/host/rdma_resources.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/os/clocks.hpp"

namespace weft::host {
namespace {

constexpr std::chrono::seconds kMaxListing{
    10};  // a device with thousands of queue pairs asks its firmware for each
constexpr std::size_t kAnswerSize = 65'536;  // the kernel's are of 32 KB at most
constexpr Bytes kMaxStatus(65'536);

/// All of the answer to one question, of a device or of all.
Result<void> ask(const os::FileDescriptor& socket, int command, std::optional<std::uint32_t> device,
                 Nanoseconds until, RdmaAnswer& answer) {
  NetlinkQuestion question(static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)), {},
                           NLM_F_DUMP);
  if (device) question.number(RDMA_NLDEV_ATTR_DEV_INDEX, *device);
  const auto asked = question.finish();
  if (::send(socket.get(), asked.data(), asked.size(), 0) < 0)
    return fail(ErrorKind::absent, "the kernel cannot be asked: {}", std::strerror(errno));
  std::vector<std::byte> bytes(kAnswerSize);
  answer.is_whole = false;
  while (!answer.is_whole) {
    const auto size = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_TRUNC);
    if (size < 0 || os::steady_now() > until)
      return fail(ErrorKind::timeout, "the kernel does not answer: {}",
                  std::strerror(size < 0 ? errno : ETIMEDOUT));
    if (static_cast<std::size_t>(size) > bytes.size())
      return fail(ErrorKind::invalid_input, "the kernel's answer is larger than it can be");
    WEFT_TRY_VOID(take_rdma_datagram(ByteSpan(bytes).first(static_cast<std::size_t>(size)), answer));
  }
  return {};
}

}  // namespace

RdmaProcess process_of_thread(const std::filesystem::path& proc, std::uint32_t thread) {
  RdmaProcess process{.pid = thread};
  constexpr std::string_view kGroup = "\nTgid:\t";
  if (const auto status = files::read_text_file(proc / std::to_string(thread) / "status", kMaxStatus))
    if (const auto at = status->find(kGroup); at != std::string::npos) {
      const char* const digits = status->data() + at + kGroup.size();
      std::uint32_t pid = 0;
      if (std::from_chars(digits, status->data() + status->size(), pid).ec == std::errc() && pid > 0)
        process.pid = pid;
    }
  if (const auto name = sysfs_line(proc / std::to_string(process.pid) / "comm"))
    process.program = outside_text(*name);
  return process;
}

Result<RdmaResources> read_rdma_resources() {
  const auto socket = open_netlink(NETLINK_RDMA);
  if (!socket)
    return fail(ErrorKind::absent, "this kernel has no RDMA subsystem ({})", socket.error().message);
  RdmaResources known;
  const auto until = os::steady_now() + kMaxListing;
  WEFT_TRY_VOID(ask(*socket, RDMA_NLDEV_CMD_GET, std::nullopt, until, known.told));
  const auto devices = known.told.devices;
  for (const RdmaDevice& device : devices) {
    if (const auto asked = ask(*socket, RDMA_NLDEV_CMD_RES_QP_GET, device.index, until, known.told); !asked) {
      known.trouble.push_back(fmt::format("{}: {}", device.name, asked.error().message));
      if (asked.error().kind == ErrorKind::timeout) break;  // what comes late would answer the next question
      continue;
    }
    // Older kernels have no such list.
    if (const auto asked = ask(*socket, RDMA_NLDEV_CMD_RES_CTX_GET, device.index, until, known.told);
        !asked && asked.error().kind == ErrorKind::timeout)
      break;
  }
  for (const RdmaQp& qp : known.told.qps)
    if (qp.thread && !known.process_of.contains(*qp.thread))
      known.process_of[*qp.thread] = process_of_thread("/proc", *qp.thread);
  for (const RdmaUser& user : known.told.users)
    if (!known.process_of.contains(user.thread))
      known.process_of[user.thread] = process_of_thread("/proc", user.thread);
  return known;
}

}  // namespace weft::host
