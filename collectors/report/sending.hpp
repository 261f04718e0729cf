// What `sweep --dry-run` tells: a table for people, and a document (weft.dryrun/1) for programs.
#pragma once

#include <string>
#include <vector>

#include "probes/plan/sending.hpp"
#include "topology/files/document.hpp"

namespace weft::report {

struct DryRun {
  std::size_t hosts = 0;
  plan::SendingPlan plan;
  // In words.
  std::string agents;   // how they come to run on the hosts, and where they dial back to
  std::string engine;   // by what packets are sent
  std::string marking;  // traffic class and service level
};

/// What a job that runs meanwhile would notice, a sentence each.
std::vector<std::string> noticed_by_jobs(const Fabric& fabric, const plan::SendingPlan& plan);

std::string sending_table(const Fabric& fabric, const DryRun& run, std::size_t columns);
std::string sending_json(const Fabric& fabric, const DryRun& run, const files::DocumentStamp& stamp);

}  // namespace weft::report
