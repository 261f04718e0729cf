#include "topology/lab/netns/node_setup.hpp"

#include "topology/lab/netns/names.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"
#include "topology/os/run_program.hpp"

namespace weft::lab {
namespace {

// Half a second is what the largest batch (768 cables) takes; a minute means that the kernel hangs.
constexpr std::chrono::minutes kMaxBatch{1};

std::string_view package_of(std::string_view program) {
  if (program == "nft") return "nftables";
  return program.starts_with("ip") && program.ends_with("tables") ? "iptables" : "iproute2";
}

Result<void> run(const std::vector<std::string>& argv, const std::string& input) {
  const auto done = os::run_program(argv, input, kMaxBatch);
  if (done) return {};
  if (done.error().kind == ErrorKind::absent)
    return fail(ErrorKind::absent, "{}: install the package {}", done.error().message, package_of(argv[0]));
  return pass_on(done);
}

Result<void> write_sysctls(const std::vector<Sysctl>& sysctls) {
  for (const auto& [path, value, optional] : sysctls)
    if (const auto written = os::write_sysctl(path, value); !written && !optional) return pass_on(written);
  return {};
}

}  // namespace

Result<void> run_in_namespace(const std::filesystem::path& file, const std::vector<std::string>& argv,
                              const std::string& input) {
  WEFT_TRY(const auto visit, os::NamespaceVisit::enter(file));
  return run(argv, input);
}

Result<void> NodeSetup::batch(NodeId node, const std::vector<std::string>& program,
                              const std::string& lines) const {
  if (lines.empty()) return {};
  const auto done = run_in_namespace(lab_.namespace_of(node), program, lines);
  if (!done) return pass_on(done, fmt::format("set up {}", lab_.fabric().name_of(node)));
  return {};
}

Result<void> NodeSetup::in_family(NodeId node, const std::string& lines) const {
  return batch(node, {"ip", scripts_.family_option(), "-batch", "-"}, lines);
}

Result<void> NodeSetup::make_namespaces() const {
  std::vector<os::NewNamespace> wanted;
  wanted.push_back(
      {lab_.management_namespace(), [this] { return write_sysctls(scripts_.management_sysctls()); }});
  for (std::uint32_t i = 0; i < lab_.fabric().node_count(); ++i)
    wanted.push_back(
        {lab_.namespace_of(NodeId(i)), [this, i] { return write_sysctls(scripts_.sysctls(NodeId(i))); }});
  return create_namespaces(wanted);
}

Result<void> NodeSetup::lay_cables() const {
  const auto path = [this](std::optional<NodeId> node) {
    return (node ? lab_.namespace_of(*node) : lab_.management_namespace()).string();
  };
  // From inside, so that no name of the machine's own interfaces can be in the way.
  return run_in_namespace(lab_.management_namespace(), {"ip", "-batch", "-"}, scripts_.cables(path));
}

Result<void> NodeSetup::set_up_management() const {
  return run_in_namespace(lab_.management_namespace(), {"ip", "-4", "-batch", "-"}, scripts_.management());
}

Result<void> NodeSetup::set_up_node(NodeId node) const {
  const bool is_host = lab_.fabric().is_host(node);
  std::string lines = scripts_.node(node);
  for (const PortId port : lab_.fabric().ports_of(node))
    if (lab_.fabric().port(port).link) lines += scripts_.port(port);
  // The management network is IPv4; a lab of IPv4 sets both up in one go.
  const bool v4 = lab_.settings().family == IpFamily::v4;
  if (is_host && v4) lines += scripts_.management_end(node);
  WEFT_TRY_VOID(in_family(node, lines));
  if (is_host && !v4) WEFT_TRY_VOID(batch(node, {"ip", "-4", "-batch", "-"}, scripts_.management_end(node)));
  return batch(node, {"tc", "-batch", "-"}, scripts_.shaping(node));
}

Result<void> NodeSetup::set_up_routes(NodeId node, const std::set<LinkId>& down) const {
  // Without a family: a group of nexthops has none. The addresses tell.
  return batch(node, {"ip", "-batch", "-"}, scripts_.routes(node, down));
}

Result<void> NodeSetup::raise_port(PortId port) const {
  return in_family(lab_.fabric().port(port).node, scripts_.port(port));
}

Result<void> NodeSetup::lower_port(PortId id) const {
  const Port& port = lab_.fabric().port(id);
  return in_family(port.node, fmt::format("link set {} down\n", interface_name(port.number)));
}

Result<void> NodeSetup::shape_port(PortId id, std::optional<Bandwidth> rate) const {
  const Port& port = lab_.fabric().port(id);
  if (!rate) rate = lab_rate(lab_.fabric(), lab_.settings(), *port.link);
  return batch(port.node, {"tc", "-batch", "-"}, LabScripts::shape(interface_name(port.number), rate));
}

}  // namespace weft::lab
