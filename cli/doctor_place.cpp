#include "cli/doctor_place.hpp"

#include <fmt/format.h>

#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/lab_place.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/launch_template.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"

namespace weft::cli {
namespace {

using diagnosis::DoctorExpectations;
using NicsOfHosts = std::map<std::string, std::vector<diagnosis::WantedNic>>;

std::string shown_address(const run::WayBack& way) {
  const std::string address = to_string(way.address());
  return fmt::format("{}:{}", way.address().is_v6() ? "[" + address + "]" : address, way.port());
}

Result<void> open_way_back(DoctorPlace& place, const run::ListenAddress& where) {
  WEFT_TRY(place.way_back, run::WayBack::open(where));
  place.expectations.coordinator = shown_address(*place.way_back);
  return {};
}

NicsOfHosts nics_of(const files::FabricFile& file, const std::vector<NodeId>& hosts) {
  NicsOfHosts nics;
  for (const NodeId host : hosts)
    for (const PortId port : file.fabric.ports_of(host)) {
      const auto address = file.addresses.address_of(port);
      const auto link = file.fabric.port(port).link;
      if (address && link)
        nics[file.fabric.name_of(host)].push_back({to_string(*address), file.fabric.link(*link).rate});
    }
  return nics;
}

Result<DoctorPlace> lab_place(const std::string& name) {
  if (lab::ib_lab_exists(name, ib_lab_root()))
    return fail(ErrorKind::usage, "the hosts of lab '{}' are simulated (InfiniBand): there is nothing to ask",
                name);
  DoctorPlace place;
  WEFT_TRY(place.lab, run::open_lab_for_run(name, lab_state_root()));
  const lab::Lab& lab = *place.lab;
  WEFT_TRY(place.expectations.program, run::own_program());
  place.expectations.one_machine = true;
  place.expectations.login = fmt::format("weft lab exec {{host}} --name {} --", name);
  place.expectations.mtu = lab.settings().mtu;
  for (const NodeId host : lab.fabric().hosts()) {
    place.hosts.push_back(lab.fabric().name_of(host));
    for (const lab::LabNic& nic : lab.nics_of(host))
      place.expectations.nics[place.hosts.back()].push_back({to_string(nic.address)});
  }
  WEFT_TRY_VOID(open_way_back(place, run::ListenAddress{lab.coordinator_address()}));
  return place;
}

/// What a person types before a command for a host.
std::string login_of(const std::string& launcher) {
  return launcher == "ssh" ? "ssh {host}" : launcher == "srun" ? "srun --nodelist={host}" : launcher;
}

/// Where a run would wait for agents; what keeps it from being found is a note, unless it was asked for.
Result<void> find_way_back(const po::variables_map& values, DoctorPlace& place) {
  if (const auto given = text_option(values, "listen")) {
    const auto where = run::parse_listen_address(*given);
    if (!where) return pass_on(where, "--listen");
    return open_way_back(place, *where);
  }
  const auto address = run::address_towards(place.hosts);
  const auto opened = address ? open_way_back(place, run::ListenAddress{*address}) : pass_on(address);
  if (!opened)
    place.notes.push_back("not tried: whether hosts reach this machine, as agents must: " +
                          opened.error().message);
  return {};
}

Result<DoctorPlace> cluster_place(const po::variables_map& values) {
  DoctorPlace place;
  if (const auto path = text_option(values, "fabric")) {
    WEFT_TRY(const auto file, load_fabric_file(*path));
    WEFT_TRY(const auto hosts, chosen_hosts(values, file));
    for (const NodeId host : hosts) place.hosts.push_back(file.fabric.name_of(host));
    place.expectations.roce = file.fabric.kind() == FabricKind::roce;
    if (place.expectations.roce) place.expectations.nics = nics_of(file, hosts);
  } else {
    WEFT_TRY(place.hosts, host_names(values));
  }
  if (place.hosts.empty())
    return fail(ErrorKind::usage, "no hosts: the fabric file gives none an address; name them with --hosts");
  const auto launcher = values["launcher"].as<std::string>();
  WEFT_TRY(const auto launch, run::LaunchTemplate::parse(launcher));
  WEFT_TRY(const auto own, run::own_program());
  place.expectations.program = text_option(values, "agent-program").value_or(own);
  place.expectations.login = login_of(launcher);
  WEFT_TRY_VOID(find_way_back(values, place));
  WEFT_TRY(const bool tree, read_fan_out(values));
  if (tree) place.tree = run::AskTree{launch, place.expectations.program};
  place.ask = [launch, names = place.hosts](std::size_t host, os::ChildSpec spec) {
    spec.argv = launch.command(names[host], spec.argv);
    return os::ChildProcess::start(spec);
  };
  return place;
}

}  // namespace

std::vector<std::string> question_words(const DoctorPlace& place, std::size_t host) {
  const DoctorExpectations& expectations = place.expectations;
  std::vector<std::string> words{expectations.program, "doctor-report"};
  if (place.way_back) words.insert(words.end(), {"--towards", expectations.coordinator});
  if (expectations.one_machine) words.emplace_back("--shared-machine");
  const auto own = expectations.nics.find(place.hosts[host]);
  if (own == expectations.nics.end()) return words;
  // Each NIC tries the one of the same number of the next host: a ring, so that all are tried both ways.
  const auto next = expectations.nics.find(place.hosts[(host + 1) % place.hosts.size()]);
  for (std::size_t nic = 0; nic < own->second.size(); ++nic) {
    const bool paired =
        place.hosts.size() > 1 && next != expectations.nics.end() && nic < next->second.size();
    words.emplace_back("--nic");
    words.push_back(own->second[nic].address + (paired ? "=" + next->second[nic].address : ""));
  }
  return words;
}

std::vector<std::string> path_question_words(const DoctorPlace& place,
                                             const std::vector<diagnosis::NicsToTry>& tries) {
  // Of the machine's devices nothing is told a second time.
  std::vector<std::string> words{place.expectations.program, "doctor-report", "--shared-machine"};
  for (const diagnosis::NicsToTry& one : tries) {
    words.emplace_back("--nic");
    words.push_back(one.own + "=" + one.other);
  }
  return words;
}

void add_doctor_place_options(OptionParser& parser) {
  parser.options().add_options()("hosts", po::value<std::string>()->value_name("LIST"),
                                 "the hosts to look at, as gpu[001-064],login2 or @FILE")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
      "a fabric file: its hosts (or those of --hosts) against what it says of them; `weft doctor FILE` does "
      "as well")("lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
                 "the hosts of a lab (see weft lab)");
  parser.options(Group::cluster)
      .add_options()("launcher",
                     po::value<std::string>()->value_name("ssh|srun|COMMAND")->default_value("ssh"),
                     "what reaches the hosts: ssh, srun, or a command with {host} in it, as 'ssh -l root "
                     "{host}'")(
          "fan-out", po::value<std::string>()->value_name("flat|tree")->default_value("flat"), kFanOutHelp)(
          "listen", po::value<std::string>()->value_name("ADDR[:PORT]"),
          "where agents would reach this machine (default: its address on the way to the "
          "hosts, any free port): the hosts try it")(
          "agent-program", po::value<std::string>()->value_name("PATH"),
          "weft on the hosts (default: the path of this very program)");
}

Result<DoctorPlace> read_doctor_place(const po::variables_map& values) {
  const bool lab = values.count("lab") != 0;
  if (lab && (values.count("fabric") || values.count("hosts")))
    return fail(ErrorKind::usage, "--lab stands alone: the lab knows its hosts");
  return lab ? lab_place(values["lab"].as<std::string>()) : cluster_place(values);
}

}  // namespace weft::cli
