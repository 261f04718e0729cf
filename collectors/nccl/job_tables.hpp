// Of the tables of queue pairs that were read, those that tell of the job that hangs, now: hosts keep what
// killed processes told last, and jobs share hosts. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/nccl/qp_table.hpp"
#include "topology/base/result.hpp"

namespace weft::nccl {

struct JobTables {
  std::vector<QpTable> tables;
  std::vector<std::string> passed_over;  // and why, a sentence each
};

/// Passed over are tables of other jobs than `job`, of processes that have ended, and of those that told
/// nothing for long while others of their host did. Error (usage): no table is of `job`; or without it, a
/// rank is told by two jobs, so that nobody knows which is meant.
Result<JobTables> tables_of_job(std::vector<QpTable> tables, const std::optional<std::string>& job);

}  // namespace weft::nccl
