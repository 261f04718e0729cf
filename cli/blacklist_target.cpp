#include "cli/blacklist_target.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "balancer/export/exec_target.hpp"
#include "balancer/export/kubernetes_target.hpp"
#include "balancer/export/opensm_target.hpp"
#include "balancer/export/port_target.hpp"
#include "balancer/export/slurm_target.hpp"
#include "balancer/export/ufm_target.hpp"
#include "cli/infiniband_source.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

using exports::Target;

constexpr auto kMaxCall = std::chrono::minutes(10);
/// Of one over REST: so long a server that never ends its answer's head may fill memory.
constexpr auto kMaxRestCall = std::chrono::minutes(1);
constexpr std::string_view kProgram = "exec:";
constexpr auto kUfmOptions = {"ufm-server",     "ufm-user", "ufm-password-file",
                              "ufm-token-file", "ufm-ca",   "ufm-max-isolated"};
constexpr auto kKubernetesOptions = {"kube-server",    "kube-token-file", "kube-ca",
                                     "kube-config",    "kube-context",    "kube-taint",
                                     "kube-condition", "kube-rail",       "kube-dra"};

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
  const auto program = text_option(values, "run").value_or("");
  if (program.empty()) return fail(ErrorKind::usage, "which program? expected --run PROGRAM");
  return std::make_unique<exports::PortTarget>(
      fabric, dialect, exports::PortFiles{*directory, program, values.count("new-dir") != 0, limit});
}

/// A pod's own account, where no server is named: its token is for no other.
Result<exports::KubernetesServer> kubernetes_server(const po::variables_map& values, Nanoseconds limit) {
  exports::KubernetesServer server{.limit = limit};
  const auto named = text_option(values, "kube-server");
  if (const auto config = text_option(values, "kube-config")) {
    for (const char* name : {"kube-server", "kube-token-file", "kube-ca"})
      if (values.count(name)) return fail(ErrorKind::usage, "--{} stands in the file of --kube-config", name);
    server.config = *config;
    server.context = text_option(values, "kube-context").value_or("");
    return server;
  }
  if (values.count("kube-context"))
    return fail(ErrorKind::usage, "--kube-context: expected --kube-config FILE");
  if (named) {
    server.url = *named;
  } else {
    const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
    const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !port)
      return fail(ErrorKind::usage,
                  "--to kubernetes: expected --kube-server URL: this is no pod (no KUBERNETES_SERVICE_HOST)");
    const bool is_ipv6 = std::string_view(host).find(':') != std::string_view::npos;
    server = {.url = fmt::format("https://{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port),
              .token = exports::kPodToken,
              .ca = exports::kPodCertificates,
              .limit = limit};
  }
  if (const auto token = text_option(values, "kube-token-file")) server.token = *token;
  if (const auto ca = text_option(values, "kube-ca")) server.ca = *ca;
  if (server.token.empty() && !server.url.starts_with("http://"))
    return fail(ErrorKind::usage, "--kube-server: expected --kube-token-file FILE");
  return server;
}

Result<std::unique_ptr<Target>> open_kubernetes(const po::variables_map& values, const Fabric& fabric,
                                                Nanoseconds limit) {
  exports::KubernetesKeys keys;
  keys.fabric = fabric.name();
  if (auto taint = text_option(values, "kube-taint")) {
    if (const auto colon = taint->find(':'); colon != std::string::npos) {
      keys.effect = taint->substr(colon + 1);
      taint->resize(colon);
    }
    keys.taint = *taint;
  }
  if (const auto condition = text_option(values, "kube-condition")) keys.condition = *condition;
  if (const auto rail = text_option(values, "kube-rail")) keys.rail = *rail;
  if (const auto dra = text_option(values, "kube-dra")) {
    const auto slash = std::min(dra->find('/'), dra->size());
    keys.driver = dra->substr(0, slash);
    keys.device = dra->substr(std::min(slash + 1, dra->size()));
    if (keys.driver.empty())
      return fail(ErrorKind::usage, "--kube-dra: expected DRIVER/DEVICE, as dra.net/mlx5-%");
  }
  WEFT_TRY_VOID(exports::check_keys(keys));
  WEFT_TRY(const auto server, kubernetes_server(values, limit));
  WEFT_TRY(auto api, exports::open_kubernetes_api(server));
  return std::make_unique<exports::KubernetesTarget>(std::move(api), std::move(keys));
}

Result<std::size_t> parse_max_isolated(std::string_view text) {
  if (const auto number = parse_whole_number<std::size_t>(text)) return *number;
  return fail(ErrorKind::usage, "'{}': expected a whole number of cables, 0 or more", text);
}

Result<std::unique_ptr<Target>> open_ufm(const po::variables_map& values, const Fabric& fabric,
                                         Nanoseconds limit) {
  if (fabric.kind() != FabricKind::infiniband)
    return fail(ErrorKind::usage, "--to ufm: {} is a {} fabric, which UFM does not manage", fabric.name(),
                to_string(fabric.kind()));
  WEFT_TRY(const auto most, read_option(values, "ufm-max-isolated", parse_max_isolated));
  const auto url = text_option(values, "ufm-server");
  if (!url) return fail(ErrorKind::usage, "--to ufm: expected --ufm-server URL");
  const auto token = text_option(values, "ufm-token-file"), user = text_option(values, "ufm-user"),
             password = text_option(values, "ufm-password-file");
  if (token.has_value() == user.has_value() || user.has_value() != password.has_value())
    return fail(ErrorKind::usage,
                "--to ufm: expected --ufm-token-file FILE, or --ufm-user NAME with --ufm-password-file FILE");
  exports::UfmServer server{.url = *url, .user = user.value_or(""), .limit = limit};
  if (token) server.token = *token;
  if (password) server.password = *password;
  if (const auto ca = text_option(values, "ufm-ca")) server.ca = *ca;
  WEFT_TRY(auto api, exports::open_ufm_api(server));
  return std::make_unique<exports::UfmTarget>(fabric, std::move(api), exports::wait_of_machine(),
                                              most.value_or(exports::kMaxIsolated));
}

}  // namespace

Result<std::unique_ptr<Target>> open_target(const po::variables_map& values, const Fabric& fabric) {
  const auto to = text_option(values, "to");
  if (!to)
    return fail(ErrorKind::usage, "no target is named: expected --to {} or exec:PROGRAM",
                fmt::join(kNamedTargets, ", "));
  WEFT_TRY(const auto given, read_option(values, "call-limit", files::parse_span));
  if (given && (*given < std::chrono::seconds(1) || *given > kMaxCall))
    return fail(ErrorKind::usage, "--call-limit: expected 1s to 10m");
  if (given && *given > kMaxRestCall && (*to == "kubernetes" || *to == "ufm"))
    return fail(ErrorKind::usage, "--call-limit: expected 1s to 1m with --to {}", *to);
  const Nanoseconds limit = given.value_or(exports::SlurmCalls().limit);
  const bool is_program = to->starts_with(kProgram) && to->size() > kProgram.size();
  if (!is_program && std::ranges::find(kNamedTargets, *to) == kNamedTargets.end())
    return fail(ErrorKind::usage, "--to {}: expected {} or exec:PROGRAM", *to,
                fmt::join(kNamedTargets, ", "));
  if (*to != "kubernetes")
    for (const char* name : kKubernetesOptions)
      if (values.count(name)) return fail(ErrorKind::usage, "--{} is of --to kubernetes", name);
  if (*to != "ufm")
    for (const char* name : kUfmOptions)
      if (values.count(name)) return fail(ErrorKind::usage, "--{} is of --to ufm", name);
  if (*to != "slurm" && values.count("slurm-reserve"))
    return fail(ErrorKind::usage, "--slurm-reserve is of --to slurm");
  if (*to == "opensm") return open_opensm(values, fabric, limit);
  for (const char* name : {"device", "port"})
    if (!values[name].defaulted()) return fail(ErrorKind::usage, "--{} is of --to opensm", name);
  if (*to == "sonic") return open_ports(values, fabric, exports::PortDialect::sonic, limit);
  if (*to == "cumulus") return open_ports(values, fabric, exports::PortDialect::cumulus, limit);
  for (const char* name : {"dir", "run", "new-dir"})
    if (values.count(name)) return fail(ErrorKind::usage, "--{} is of --to sonic and cumulus", name);
  if (*to == "slurm")
    return std::make_unique<exports::SlurmTarget>(
        exports::SlurmCalls{.limit = limit,
                            .host_mark = values.count("slurm-reserve") ? exports::HostMark::reservation
                                                                       : exports::HostMark::drain});
  if (*to == "kubernetes") return open_kubernetes(values, fabric, limit);
  if (*to == "ufm") return open_ufm(values, fabric, limit);
  if (is_program) return std::make_unique<exports::ExecTarget>(to->substr(kProgram.size()), limit);
  return fail(ErrorKind::not_supported, "--to {}: this target is named, but nothing opens it", *to);
}

void add_target_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.options().add_options()("to", text("TARGET"),
                                 "slurm, kubernetes, opensm, ufm, sonic, cumulus or exec:PROGRAM")(
      "call-limit", text("TIME"), "each call of the target is ended after so long (10s)")(
      "slurm-reserve",
      "with --to slurm: hosts are reserved for root, who may test them by jobs, and not drained");
  parser.options(Group::switches)
      .add_options()("dir", text("DIR"), "where the files for switches and the marks of this fabric are")(
          "run", text("PROGRAM"), "started as PROGRAM SWITCH FILE, it changes that switch by the file")(
          "new-dir", "the first time: DIR has no marks yet");
  parser.command_line_only({"new-dir"});
  parser.options(Group::kubernetes)
      .add_options()("kube-server", text("URL"), "the API server, https://HOST[:PORT] (in a pod: its own)")(
          "kube-token-file", text("FILE"), "the token that is shown to it (in a pod: its account's)")(
          "kube-ca", text("FILE"),
          "certificates that vouch for the server, in PEM (in a pod: its own; else the system's)")(
          "kube-taint", text("KEY[:EFFECT]"), "taint of a host that is out of use (weft/fabric:NoSchedule)")(
          "kube-condition", text("TYPE"), "its condition, with the evidence (WeftFabric)")(
          "kube-rail", text("PREFIX"), "with --nic rail: labels of rails, a number follows (weft/rail)")(
          "kube-dra", text("DRIVER/DEVICE"),
          "with --nic rail: taints of the devices of that driver instead; % in DEVICE is the number of the "
          "rail")("kube-config", text("FILE"),
                  "a kubeconfig with the server and a token or a client certificate")(
          "kube-context", text("NAME"), "which context of it (its current one)");
  parser.either({"kube-config"}, {"kube-server", "kube-token-file", "kube-ca"});
  parser.options(Group::ufm)
      .add_options()("ufm-server", text("URL"), "NVIDIA UFM Enterprise, https://HOST[:PORT]")(
          "ufm-user", text("NAME"), "a user of the role Fabric Admin")(
          "ufm-password-file", text("FILE"), "with its password")("ufm-token-file", text("FILE"),
                                                                  "a token of such a user instead")(
          "ufm-ca", text("FILE"), "certificates that vouch for the server, in PEM (the system's)")(
          "ufm-max-isolated", text("N"), "cables that may be isolated at a time, by whomever (8)");
  parser.either({"ufm-token-file"}, {"ufm-user", "ufm-password-file"});
  add_subnet_options(parser.options(Group::infiniband));
}

}  // namespace weft::cli
