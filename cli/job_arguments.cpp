#include "cli/job_arguments.hpp"

#include <string>

namespace weft::cli {
namespace {

constexpr const char* kJob = "SLURM_JOB_ID";
constexpr const char* kNodes = "SLURM_JOB_NODELIST";

struct OtherScheduler {
  const char* job;  // the variable that its jobs have
  const char* name;
  const char* hosts;  // what serves as --hosts there
};
constexpr OtherScheduler kOthers[] = {{"PBS_JOBID", "OpenPBS", "@$PBS_NODEFILE"},
                                      {"LSB_JOBID", "LSF", "@$LSB_DJOB_HOSTFILE"}};

bool is_set(const run::Environment& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

Error no_allocation(const run::Environment& environment) {
  for (const OtherScheduler& other : kOthers)
    if (is_set(environment, other.job))
      return {ErrorKind::usage,
              fmt::format("--job knows Slurm alone, and this is a job of {}: give --hosts \"{}\" and a "
                          "--launcher that reaches them",
                          other.name, other.hosts)};
  return {
      ErrorKind::usage,
      fmt::format("--job: {} is not set, so this is no allocation of Slurm: run it by sbatch or salloc, or "
                  "give --hosts LIST",
                  kJob)};
}

void set(po::variables_map& values, const char* name, const std::string& value) {
  values.erase(name);
  values.insert({name, po::variable_value(std::string(value), false)});
}

}  // namespace

void add_job_option(po::options_description& options) {
  options.add_options()(
      "job",
      "inside an allocation of Slurm: its hosts, reached by srun (unless --hosts or --launcher "
      "say otherwise)");
}

Result<void> read_job(po::variables_map& values, const run::Environment& environment) {
  if (!values.count("job")) return {};
  if (values.count("lab")) return fail(ErrorKind::usage, "--job is for a live fabric, not for --lab");
  if (!is_set(environment, kJob)) return tl::unexpected(no_allocation(environment));
  if (!values.count("fabric"))
    return fail(
        ErrorKind::usage,
        "--job needs --fabric FABRIC.yaml: which cables join the hosts of this job, and their addresses");
  if (!values.count("hosts")) {
    if (!is_set(environment, kNodes))
      return fail(ErrorKind::usage,
                  "--job: {} is not set, so the hosts of job {} are not known: give --hosts LIST", kNodes,
                  environment(kJob));
    set(values, "hosts", environment(kNodes));
  }
  const bool starts_agents = values.count("credential") == 0;
  if (starts_agents && values["launcher"].defaulted()) set(values, "launcher", "srun");
  return {};
}

}  // namespace weft::cli
