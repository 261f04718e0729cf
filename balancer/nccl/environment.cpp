#include "balancer/nccl/environment.hpp"

#include <cstdlib>

#include "balancer/steer/label_list.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::nccl {
namespace {

std::string text_of(const char* name) {
  const char* text = environment_variable(name);
  return text == nullptr ? std::string() : std::string(text);
}

Environment read_environment() {
  Environment read{
      .directory = text_of("WEFT_NCCL_DIR"), .rank = {}, .job = {}, .tuner = text_of("WEFT_NCCL_TUNER")};
  read.profile_every = parse_whole_number<std::uint32_t>(text_of("WEFT_NCCL_PROFILE")).value_or(0);
  // torchrun, Open MPI, PMIx, MPICH, Slurm.
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (!read.rank) read.rank = parse_whole_number<std::uint32_t>(text_of(name));
  for (const char* name : steer::kJobVariables)
    if (read.job.empty()) read.job = text_of(name);
  return read;
}

}  // namespace

const Environment& environment() {
  // Never destroyed: threads of the job may still post while it exits.
  static const auto* const kRead = new Environment(read_environment());
  return *kRead;
}

const char* environment_variable(const char* name) { return std::getenv(name); }

}  // namespace weft::nccl
