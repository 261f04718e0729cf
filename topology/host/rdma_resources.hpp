// What the kernel knows of the RDMA devices of a host: the queue pairs of programs, and who has a device open
// (rdma_netlink.h; `rdma resource show qp` of iproute2 prints the same). It knows those that programs make by
// verbs, direct verbs (mlx5dv_create_qp) included; what they make by commands to the device (DEVX) it does
// not know. No right is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft::host {

struct RdmaDevice {
  std::uint32_t index = 0;
  std::string name = {};
  bool is_roce = false;
};

enum class RdmaQpType : std::uint8_t { rc, uc, other };  // other: UD, raw packets, XRC, a driver's own
/// Those of InfiniBand (IBA, volume 1, 10.3.1).
enum class RdmaQpState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, err };
/// "RTS".
std::string_view to_string(RdmaQpState state);

struct RdmaQp {
  std::string device = {};
  QpNum number;
  std::optional<QpNum> peer = std::nullopt;  // absent: not connected
  RdmaQpType type = RdmaQpType::other;
  RdmaQpState state = RdmaQpState::reset;
  /// That made it, as the reader's pid namespace has it; absent: it is of another one, or has ended.
  std::optional<std::uint32_t> thread = std::nullopt;
};

struct RdmaUser {
  std::string device = {};
  std::uint32_t thread = 0;  // that opened it
};

struct RdmaAnswer {
  std::vector<RdmaDevice> devices = {};
  std::vector<RdmaQp> qps = {};  // of programs: those of the kernel are left out
  std::vector<RdmaUser> users = {};
  std::uint64_t left_out = 0;  // beyond what is kept of either
  bool is_whole = false;       // the answer has come to its end
};

/// Adds what a datagram tells: answers to RDMA_NLDEV_CMD_GET, RES_QP_GET and RES_CTX_GET, each told apart by
/// its own type; all else is passed over, and an entry with a value that cannot be. Text is as outside_text
/// gives it. Errors: invalid_input (cut short), permission, absent (the kernel refuses: its errno in words).
/// Pure.
Result<void> take_rdma_datagram(ByteSpan datagram, RdmaAnswer& answer);

struct RdmaProcess {
  std::uint32_t pid = 0;
  std::string program = {};  // as the kernel has its name; empty: not told
};

struct RdmaResources {
  RdmaAnswer told = {};
  std::map<std::uint32_t, RdmaProcess> process_of = {};  // by thread
  std::vector<std::string> trouble = {};                 // devices that did not tell, and why
};

/// The process that a thread is of, and its name; a thread that is not there is taken for its process's only
/// one.
RdmaProcess process_of_thread(const std::filesystem::path& proc, std::uint32_t thread);

/// Asks the kernel, for some seconds at most. Errors: absent (it has no RDMA subsystem), permission, timeout.
Result<RdmaResources> read_rdma_resources();

}  // namespace weft::host
