// QpTable: the queue pairs of the processes of one host at one moment, `weft.qps/1`
// (docs/schema/qps.schema.json): what each has sent, what is under way and since when. Two tables of a host,
// some seconds apart, tell what moves. Pure.
#pragma once

#include <cstdint>
#include <optional>
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
  std::uint64_t bytes = 0;                              // acknowledged, in all
  std::uint64_t outstanding = 0;                        // sends posted and not completed
  std::optional<Nanoseconds> oldest = std::nullopt;     // age of the oldest of these
  std::optional<Nanoseconds> quiet = std::nullopt;      // since the last completion of a send
  std::optional<Nanoseconds> busy = std::nullopt;       // time with sends under way, in all
  std::uint64_t errors = 0;                             // completions with an error
  std::optional<std::uint32_t> timeout = std::nullopt;  // of the QP, as ibv_modify_qp takes it
  std::optional<std::uint32_t> retries = std::nullopt;
};

struct QpTable {
  std::string host;
  Nanoseconds at{};  // on a clock of the host
  std::vector<QpRecord> qps;
};

/// Error (invalid_input): no such document, or a value that cannot be; names the place.
Result<QpTable> parse_qp_table(std::string_view text, std::string_view what);

std::string qp_table_json(const QpTable& table, const files::DocumentStamp& stamp);

}  // namespace weft::nccl
