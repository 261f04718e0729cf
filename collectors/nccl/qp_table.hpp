// QpTable: queue pairs of a host at one moment: what each has sent, what is under way and since when. A
// document of them, `weft.qps/1` (docs/schema/qps.schema.json), is what `weft nccl qps -o json` writes and
// `weft nccl hang --qps` reads: a table a process. Two of a host, some seconds apart, tell what moves. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/nccl/flight_dump.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"
#include "topology/files/document.hpp"
#include "topology/model/path.hpp"

namespace weft::nccl {

struct QpRecord {
  std::uint64_t pid = 0;
  std::optional<Rank> rank = std::nullopt;
  QpNum number;
  std::optional<QpNum> peer_number = std::nullopt;
  std::optional<IpAddress> gid = std::nullopt;  // of RoCE over IPv4 that address
  std::optional<IpAddress> peer_gid = std::nullopt;
  std::string nic = {};  // as the fabric file calls it; empty: by the GID
  std::string peer_nic = {};
  std::optional<PathLabel> label = std::nullopt;
  std::vector<std::string> path = {};                   // channels; empty: by NICs and label
  std::uint64_t bytes = 0;                              // posted, in all
  std::uint64_t outstanding = 0;                        // sends posted and not completed
  std::optional<Nanoseconds> oldest = std::nullopt;     // age of the oldest of these
  std::optional<Nanoseconds> quiet = std::nullopt;      // since the last completion of a send
  std::optional<Nanoseconds> busy = std::nullopt;       // time with sends under way, in all
  std::uint64_t errors = 0;                             // completions with an error
  std::optional<std::uint32_t> timeout = std::nullopt;  // of the QP, as ibv_modify_qp takes it
  std::optional<std::uint32_t> retries = std::nullopt;
  // As libweft-nccl.so tells them; nothing is decided by these.
  std::string device = {};
  std::string role = {};      // sends, answers
  std::string label_by = {};  // device, program, weft; rule: of the kernel's list, by Linux's rule
  std::uint64_t moves = 0;    // of its label, while it lived
  std::string move = {};      // what became of the latest
  std::string state = {};     // of the kernel's list: RTS
};

struct QpTable {
  std::string host;
  Nanoseconds at{};  // on a clock of the host
  std::vector<QpRecord> qps;
  std::uint64_t pid = 0;  // of the one process that it is of
  std::string program = {};
  std::optional<std::uint64_t> list = std::nullopt;  // generation of the labels in force; 0: none
  std::uint64_t left_out = 0;                        // queue pairs that are not told
  std::string note = {};                             // why a list is not in force
  std::string job = {};                              // that the process is of; empty: it does not say
  bool has_ended = false;                            // the process: this is what it told last
  /// The kernel's list tells of these, no library: neither bytes nor work under way are known, so that they
  /// are evidence of nothing. Of pid 0 the process is not known.
  bool by_kernel = false;
};

/// A table a process. Error (invalid_input): no such document, or a value that cannot be; names the place.
Result<std::vector<QpTable>> parse_qp_tables(std::string_view text, std::string_view what);

/// Of a table with the queue pairs of several processes, each of these is told by itself.
std::string qp_tables_json(std::span<const QpTable> tables, const files::DocumentStamp& stamp);

}  // namespace weft::nccl
