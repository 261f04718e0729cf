// The queue pairs of a job as observations of their paths: those that the network holds up, and those that it
// does not; the diagnosis of the fabric names the link. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectors/nccl/qp_places.hpp"

namespace weft::nccl {

struct SuspectLink {
  std::string link;  // leaf1--spine2
  std::string from;  // the node whose sending direction it is; empty: both, or not known
  double confidence = 0;
};

struct NetworkFindings {
  std::vector<SuspectLink> links = {};
  std::vector<std::vector<std::string>> alternatives = {};  // sets of channels of which one is at fault
  std::vector<std::string> evidence = {};
  std::string host = {};  // that acknowledges nothing on any NIC; then no link is named
};

/// What a queue pair says of the network: its path holds it up, there or on the way back of acknowledgements,
/// or does not. `good_there`: of the way back it says nothing, since acknowledgements are few and small.
enum class QpSays : std::uint8_t { nothing, good, good_there, bad };

struct JudgedQp {
  const QpRecord* record = nullptr;
  QpSays says = QpSays::nothing;
};

/// `qps`: all of the job, also those that say nothing: by them the way back of the others is known.
NetworkFindings locate_links(const JobFabric& fabric, std::span<const JudgedQp> qps);

}  // namespace weft::nccl
