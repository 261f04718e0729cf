#include "topology/lab/ibsim/ib_lab.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "topology/base/check.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/os/processes.hpp"
#include "topology/os/scratch_directory.hpp"
#include "topology/routing/spread_nics.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMaxStateBytes(512'000'000);

/// `fabric` with other rates; the same ids.
template <class Rate>
Fabric with_rates(const Fabric& fabric, Rate rate_of) {
  FabricBuilder builder(fabric.name(), fabric.kind());
  for (const Node& node : fabric.nodes()) WEFT_CHECK(builder.add_node(node).has_value());
  for (const Port& port : fabric.ports())
    WEFT_CHECK(builder.add_port(port.node, port.number, port.guid).has_value());
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link& link = fabric.link(LinkId(l));
    WEFT_CHECK(builder.add_link(link.a, link.b, rate_of(LinkId(l))).has_value());
  }
  return std::move(builder).build();
}

Result<Fabric> with_slow_links(const Fabric& fabric, const LabSettings& settings) {
  std::map<LinkId, Bandwidth> slow;
  for (const auto& [name, rate] : settings.slow_links) {
    const auto link = fabric.find_link(name);
    if (!link) return pass_on(link, "lab: slow_links");
    slow[*link] = rate;
  }
  return with_rates(fabric, [&](LinkId id) {
    const auto found = slow.find(id);
    return found == slow.end() ? fabric.link(id).rate : found->second;
  });
}

/// The ports of a node, or the one of a NIC.
Result<std::vector<PortId>> ports_named(const Fabric& fabric, const std::string& name) {
  if (const auto node = fabric.find_node(name)) {
    const auto ports = fabric.ports_of(*node);
    return std::vector<PortId>(ports.begin(), ports.end());
  }
  WEFT_TRY(const auto nic, fabric.find_nic(name));
  return std::vector<PortId>{nic};
}

/// A GUID that no other node or port of the lab has: of another range than the design's.
Guid other_guid(Guid guid) { return Guid(guid.value() ^ 0x0000'0100'0000'0000); }

/// What is there, where some of it was replaced: the same but for its GUIDs.
Result<InfinibandInventory> built_inventory(const Fabric& fabric, const LabSettings& settings) {
  auto inventory = design_inventory(fabric, kFastestInIbsim);
  for (const auto& name : settings.replaced) {
    const auto ports = ports_named(fabric, name);
    if (!ports) return pass_on(ports, "lab: replaced");
    for (const PortId port : *ports) {
      IbPort& about = inventory.ports[port.value()];
      about.node_guid = other_guid(about.node_guid);
      about.port_guid = other_guid(about.port_guid);
    }
  }
  return inventory;
}

Result<IbNodeNames> built_descriptions(const Fabric& fabric, const InfinibandInventory& built,
                                       const LabSettings& settings) {
  IbNodeNames descriptions;
  for (const auto& [name, description] : settings.descriptions) {
    const auto ports = ports_named(fabric, name);
    if (!ports) return pass_on(ports, "lab: descriptions");
    for (const PortId port : *ports) descriptions[built.ports[port.value()].node_guid] = description;
  }
  return descriptions;
}

/// With the GUIDs of its design, so that what is there can be told from what should be.
Fabric with_guids(const Fabric& fabric) {
  const auto inventory = design_inventory(fabric, kFastestInIbsim);
  FabricBuilder builder(fabric.name(), fabric.kind());
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    Node node = fabric.node(NodeId(n));
    const auto ports = fabric.ports_of(NodeId(n));
    if ((node.kind == NodeKind::host || !node.guid) && !ports.empty())
      node.guid = inventory.ports[ports.front().value()].node_guid;
    WEFT_CHECK(builder.add_node(std::move(node)).has_value());
  }
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    const Port& port = fabric.port(PortId(p));
    const auto guid = fabric.is_host(port.node) ? std::optional(inventory.ports[p].port_guid) : std::nullopt;
    WEFT_CHECK(builder.add_port(port.node, port.number, guid).has_value());
  }
  for (const Link& link : fabric.links()) WEFT_CHECK(builder.add_link(link.a, link.b, link.rate).has_value());
  return std::move(builder).build();
}

fs::path place(const std::string& name, const fs::path& root) { return root / name; }

Result<void> keep_processes(const fs::path& directory, const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids)
    if (const auto mark = os::mark_of(pid)) text += fmt::format("{} {}\n", mark->pid, mark->start);
  return files::write_text_file(directory / "processes", text);
}

std::vector<os::ProcessMark> kept_processes(const fs::path& directory) {
  std::ifstream file(directory / "processes");
  std::vector<os::ProcessMark> marks;
  for (os::ProcessMark mark; file >> mark.pid >> mark.start;) marks.push_back(mark);
  return marks;
}

std::string socket_name(const std::string& name, const fs::path& directory) {
  return fmt::format("weft-{}-{:x}", name, std::hash<std::string>{}(directory.string()));
}

Result<IbLab> describe(const std::string& name, const fs::path& directory, const Fabric& fabric,
                       const LabSettings& settings) {
  WEFT_TRY(auto inventory, built_inventory(fabric, settings));
  return IbLab{.name = name,
               .directory = directory,
               .sockets = socket_name(name, directory),
               .fabric = at_ibsim_rates(fabric),
               .inventory = std::move(inventory),
               .settings = settings};
}

}  // namespace

Fabric at_ibsim_rates(const Fabric& fabric) {
  const auto inventory = design_inventory(fabric, kFastestInIbsim);
  return with_rates(fabric, [&](LinkId id) {
    const IbPort& port = inventory.ports[fabric.link(id).a.value()];
    return link_rate(*port.width, *port.speed);
  });
}

std::vector<std::string> IbLab::environment_at(PortId nic) const {
  return ibsim_environment(sockets, inventory.ports[nic.value()].node_guid, false);
}

std::vector<std::string> IbLab::environment_for_commands() const {
  // OpenSM is at the first switch; ibsim tells clients of one port apart only by what they asked for.
  std::optional<Guid> last;
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (!fabric.is_host(fabric.port(PortId(p)).node)) last = inventory.ports[p].node_guid;
  return ibsim_environment(sockets, last.value_or(Guid()), true);
}

std::vector<PortId> IbLab::agents() const { return routing::spread_nics(fabric, kMaxIbsimAgents); }

std::optional<std::string> ib_lab_engine(const IbLab& lab) {
  const auto log = files::read_text_file(lab.directory / "opensm.log", kMaxStateBytes);
  return log ? engine_in_log(*log) : std::nullopt;
}

std::size_t ib_lab_drops(const IbLab& lab) {
  const auto said = files::read_text_file(lab.directory / "ibsim.err", kMaxStateBytes);
  if (!said) return 0;
  std::size_t drops = 0;
  constexpr std::string_view kDropped = "pkt dropped";
  for (auto at = said->find(kDropped); at != std::string::npos; at = said->find(kDropped, at + 1)) ++drops;
  return drops;
}

bool ib_lab_exists(const std::string& name, const fs::path& root) { return fs::exists(place(name, root)); }

std::vector<std::string> ib_lab_names(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root, none)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Result<IbLab> ib_lab_up(const std::string& name, const Fabric& fabric, const LabSettings& settings,
                        const fs::path& root, std::stop_token stop) {
  const auto directory = place(name, root);
  if (const auto there = ib_lab_open(name, root))
    return fail(ErrorKind::conflict, "lab {} is up already: weft lab down --name {} ends it", name, name);
  WEFT_TRY_VOID(ib_lab_down(name, root));
  // Of their own, so that another process, which reads them from the lab's file, means the same ones.
  const Fabric design = with_guids(fabric);
  WEFT_TRY(const auto built, with_slow_links(design, settings));
  // The fabric's own top speed stays the measure when a slow link changes the rates.
  auto lab = describe(name, directory, design, settings);
  if (!lab) return lab;
  WEFT_TRY(const auto inventory, built_inventory(built, settings));
  WEFT_TRY(auto descriptions, built_descriptions(built, inventory, settings));
  auto simulator = IbSimulator::start(built, inventory,
                                      {.directory = directory,
                                       .name = lab->sockets,
                                       .routing = settings.routing,
                                       .lmc = settings.lmc,
                                       .descriptions = std::move(descriptions),
                                       .outlives_us = true},
                                      stop);
  if (!simulator) {
    (void)ib_lab_down(name, root);
    return pass_on(simulator);
  }
  auto kept = keep_processes(directory, {simulator->simulator().pid(), simulator->subnet_manager().pid()});
  if (kept)
    kept = files::write_text_file(directory / "fabric.yaml", files::write_fabric_file(design, settings));
  if (!kept) return pass_on(kept);
  std::move(*simulator).leave_running();
  return lab;
}

Result<IbLab> ib_lab_open(const std::string& name, const fs::path& root) {
  WEFT_TRY_VOID(os::check_is_ours(root));
  const auto directory = place(name, root);
  if (!fs::exists(directory)) return fail(ErrorKind::not_found, "there is no InfiniBand lab '{}'", name);
  const auto file = files::read_fabric_file(directory / "fabric.yaml");
  const auto processes = kept_processes(directory);
  if (!file || processes.size() < 2 || !std::all_of(processes.begin(), processes.end(), os::is_running))
    return fail(ErrorKind::conflict, "InfiniBand lab '{}' is half up or gone: weft lab down --name {}", name,
                name);
  return describe(name, directory, file->fabric, file->lab);
}

std::optional<pid_t> ib_lab_manager(const fs::path& directory) {
  const auto processes = kept_processes(directory);  // ibsim, OpenSM
  return processes.size() == 2 && is_running(processes[1]) ? std::optional(processes[1].pid) : std::nullopt;
}

Result<void> ib_lab_down(const std::string& name, const fs::path& root) {
  WEFT_TRY_VOID(os::check_is_ours(root));
  const auto directory = place(name, root);
  for (const os::ProcessMark& mark : kept_processes(directory)) end_process(mark);
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return {};
}

}  // namespace weft::lab
