#include "cli/blacklist_target.hpp"

#include "balancer/export/exec_target.hpp"
#include "balancer/export/opensm_target.hpp"
#include "balancer/export/port_target.hpp"
#include "balancer/export/slurm_target.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/time_span.hpp"

namespace weft::cli {
namespace {

using exports::Target;

constexpr auto kLongestCall = std::chrono::minutes(10);
constexpr std::string_view kProgram = "exec:";

Result<std::unique_ptr<Target>> open_opensm(const po::variables_map& values, const Fabric& fabric,
                                            Nanoseconds limit) {
  if (fabric.kind() != FabricKind::infiniband)
    return fail(ErrorKind::usage, "--to opensm: {} is a {} fabric, which no subnet manager routes",
                fabric.name(), to_string(fabric.kind()));
  exports::PortCalls calls{.limit = limit};
  if (const auto& device = values["device"].as<std::string>(); !device.empty())
    calls.options.insert(calls.options.end(), {"-C", device});
  if (const auto port = values["port"].as<unsigned>(); port != 0)
    calls.options.insert(calls.options.end(), {"-P", std::to_string(port)});
  return std::make_unique<exports::OpensmTarget>(
      fabric, [&values] { return open_subnet(values); }, std::move(calls));
}

Result<std::unique_ptr<Target>> open_ports(const po::variables_map& values, const Fabric& fabric,
                                           exports::PortDialect dialect, Nanoseconds limit) {
  if (fabric.kind() != FabricKind::roce)
    return fail(ErrorKind::usage, "{} is a {} fabric: its links leave the routes by --to opensm",
                fabric.name(), to_string(fabric.kind()));
  const auto directory = text_option(values, "dir");
  if (!directory) return fail(ErrorKind::usage, "which directory? expected --dir DIR, for this fabric alone");
  return std::make_unique<exports::PortTarget>(
      fabric, dialect, exports::PortFiles{*directory, text_option(values, "run").value_or(""), limit});
}

}  // namespace

Result<std::unique_ptr<Target>> open_target(const po::variables_map& values, const Fabric& fabric) {
  const auto to = text_option(values, "to");
  if (!to)
    return fail(ErrorKind::usage, "to what? expected --to slurm, opensm, sonic, cumulus or exec:PROGRAM");
  WEFT_TRY(const auto given, read_option(values, "call-limit", parse_span));
  if (given && (*given < std::chrono::seconds(1) || *given > kLongestCall))
    return fail(ErrorKind::usage, "--call-limit: expected 1s to 10m");
  const Nanoseconds limit = given.value_or(exports::SlurmCalls().limit);
  if (*to == "opensm") return open_opensm(values, fabric, limit);
  for (const char* name : {"device", "port"})
    if (!values[name].defaulted()) return fail(ErrorKind::usage, "--{} is of --to opensm", name);
  if (*to == "sonic") return open_ports(values, fabric, exports::PortDialect::sonic, limit);
  if (*to == "cumulus") return open_ports(values, fabric, exports::PortDialect::cumulus, limit);
  for (const char* name : {"dir", "run"})
    if (values.count(name)) return fail(ErrorKind::usage, "--{} is of --to sonic and cumulus", name);
  if (*to == "slurm") return std::make_unique<exports::SlurmTarget>(exports::SlurmCalls{.limit = limit});
  if (to->starts_with(kProgram) && to->size() > kProgram.size())
    return std::make_unique<exports::ExecTarget>(to->substr(kProgram.size()), limit);
  return fail(ErrorKind::not_supported,
              "--to {}: slurm, opensm, sonic, cumulus and exec:PROGRAM are what can be changed so far", *to);
}

void add_target_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.options().add_options()("to", text("TARGET"), "slurm, opensm, sonic, cumulus or exec:PROGRAM")(
      "call-limit", text("TIME"), "each call of the target is ended after so long (10s)")(
      "dir", text("DIR"), "sonic, cumulus: where the files for switches and the marks of this fabric are")(
      "run", text("PROGRAM"),
      "sonic, cumulus: started as PROGRAM SWITCH FILE, it changes that switch by the file");
  add_subnet_options(parser.options(Group::infiniband));
}

}  // namespace weft::cli
