#include "tests/support/rdma_rig.hpp"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "cli/lab_place.hpp"
#include "probes/packet/bth.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "tests/places.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/check.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

constexpr std::chrono::seconds kMaxBoot{200};
constexpr std::chrono::seconds kMaxCopy{60};
constexpr std::uint16_t kRocePort = 4791;
constexpr int kCaptureBuffer = 16 << 20;

/// Waves given beforehand; keeps what comes.
class GivenWork final : public session::Script {
 public:
  explicit GivenWork(std::vector<std::vector<session::WorkItem>> waves) : waves_(std::move(waves)) {}
  std::vector<session::WorkItem> next_wave() override {
    if (next_ >= waves_.size()) return {};
    auto wave = waves_[next_++];
    std::erase_if(wave, [this](const session::WorkItem& item) { return excluded_.contains(item.nic); });
    return wave.empty() ? next_wave() : wave;
  }
  void take(const session::WorkItem&, const session::TaskAnswer* answer) override {
    seen.answers.push_back(answer ? std::optional(*answer) : std::nullopt);
  }
  void exclude(PortId nic) override { excluded_.insert(nic); }
  void note_use(PortId nic, std::string_view text) override { seen.uses[nic] = text; }
  void blame(HostEvidence evidence) override { seen.blamed.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override {
    seen.blamed.push_back({what.host, what.nic, Verdict::unknown, std::nullopt, std::move(what.why)});
  }
  std::string_view doing() const override { return "working"; }
  RigAnswers seen;

 private:
  std::vector<std::vector<session::WorkItem>> waves_;
  std::size_t next_ = 0;
  std::set<PortId> excluded_;
};

os::FileDescriptor capture_on(const std::string& interface) {
  os::FileDescriptor fd(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  WEFT_CHECK(bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kCaptureBuffer, sizeof kCaptureBuffer);
  const int with_tags = 1;
  WEFT_CHECK(setsockopt(fd.get(), SOL_PACKET, PACKET_AUXDATA, &with_tags, sizeof with_tags) == 0);
  return fd;
}

template <class Bytes>
IpAddress address_at(ByteSpan bytes, std::size_t offset) {
  Bytes address;
  for (std::uint8_t& byte : address) byte = load_u8(bytes, offset++);
  return IpAddress(address);
}

/// Of packets without IPv4 options and IPv6 extensions: what soft-RoCE sends. UDP stands behind the IP
/// header, the BTH 8 bytes on: first its opcode, of which three bits are the kind of the queue pair, its
/// destination queue pair 5 bytes into it.
std::optional<SeenPacket> read_packet(ByteSpan bytes) {
  constexpr std::size_t kV4 = 20;
  constexpr std::size_t kV6 = 40;
  constexpr std::uint8_t kUdp = 17;
  if (bytes.size() < kV6 + 20) return std::nullopt;
  const bool v6 = load_u8(bytes, 0) >> 4U == 6;
  const std::size_t udp = v6 ? kV6 : kV4;
  if (load_u8(bytes, v6 ? 6 : 9) != kUdp || load_be16(bytes, udp + 2) != kRocePort) return std::nullopt;
  const auto traffic_class = v6 ? static_cast<std::uint8_t>(load_be16(bytes, 0) >> 4U) : load_u8(bytes, 1);
  constexpr unsigned kKind = 5;
  return SeenPacket{.qp = QpNum(load_be24(bytes, udp + 13)),
                    .to = v6 ? address_at<IpAddress::V6>(bytes, 24) : address_at<IpAddress::V4>(bytes, 16),
                    .source_port = UdpPort(load_be16(bytes, udp)),
                    .traffic_class = traffic_class,
                    .v6 = v6,
                    .is_datagram = load_u8(bytes, udp + 8) >> kKind == packet::kOpcodeUdSendOnly >> kKind};
}

/// The kernel takes the tag off a frame and tells it beside the packet.
std::optional<std::uint16_t> vlan_of(msghdr& message) {
  constexpr std::uint16_t kNumber = 0x0FFF;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata told{};
    std::memcpy(&told, CMSG_DATA(part), sizeof told);
    if (told.tp_status & TP_STATUS_VLAN_VALID) return told.tp_vlan_tci & kNumber;
  }
  return std::nullopt;
}

/// What came in to the interface: the capture also sees what leaves it.
std::vector<SeenPacket> read_packets(const os::FileDescriptor& fd) {
  std::vector<SeenPacket> seen;
  std::array<std::byte, 128> packet{};
  sockaddr_ll from{};
  alignas(cmsghdr) std::array<std::byte, 128> told{};
  iovec into{packet.data(), packet.size()};
  while (true) {
    msghdr message{&from, sizeof from, &into, 1, told.data(), told.size(), 0};
    const ssize_t got = recvmsg(fd.get(), &message, 0);
    if (got <= 0) return seen;
    if (from.sll_pkttype == PACKET_OUTGOING) continue;
    const ByteSpan bytes(packet.data(), std::min(static_cast<std::size_t>(got), packet.size()));
    auto one = read_packet(bytes);
    if (!one) continue;
    one->vlan = vlan_of(message);
    seen.push_back(*one);
  }
}

}  // namespace

std::string missing_for_guests() {
  if (geteuid() != 0) return "needs root";
  for (const char* file : {"/usr/bin/qemu-system-x86_64", "/bin/busybox", "/usr/bin/cpio"})
    if (!std::filesystem::exists(file))
      return fmt::format("no {}: install what cmake/test_packages.txt lists", file);
  const auto image = os::run_program({WEFT_SOURCE_DIR "/tests/rdma/build_guest_image", WEFT_BINARY_DIR}, "",
                                     std::chrono::minutes(5));
  return image ? "" : image.error().message;
}

PortsByQp ports_by_qp(const std::vector<SeenPacket>& packets) {
  PortsByQp ports;
  for (const SeenPacket& packet : packets) ports[packet.qp].insert(packet.source_port);
  return ports;
}

PortsByQp ports_to(const IpAddress& host, std::vector<SeenPacket> packets) {
  std::erase_if(packets, [&](const SeenPacket& packet) { return packet.to != host; });
  return ports_by_qp(packets);
}

bool RigAnswers::blames(const std::string& text) const {
  return std::ranges::any_of(blamed,
                             [&](const HostEvidence& e) { return e.text.find(text) != std::string::npos; });
}

RdmaRig::RdmaRig(std::string_view fabric) : user_(fabric) {
  const auto began = std::chrono::steady_clock::now();
  const auto up = weft({"lab", "up", user_.fabric_file(), "--name", name()}, kMaxBoot);
  boot_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (up.status != 0) trouble_ = up.errors;
  if (auto lab = lab::Lab::open(name(), cli::lab_state_root()))
    lab_ = std::move(*lab);
  else
    trouble_ += lab.error().message;
}

datapath::Peer RdmaRig::peer(std::string_view host) const {
  return {nic(host), lab_->addresses().book.address_of(nic(host)).value()};
}

void RdmaRig::keep_apart() const {
  const auto processors = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  long processor = 0;
  for (const NodeId host : lab_->fabric().hosts()) {
    const auto pid_file = lab::state_directory(cli::lab_state_root(), name()) / "guests" /
                          (lab_->fabric().name_of(host) + ".pid");
    pid_t pid = 0;
    std::ifstream(pid_file) >> pid;
    WEFT_CHECK(pid > 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(processor++ % processors), &set);
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid)))
      sched_setaffinity(std::stoi(thread.path().filename()), sizeof set, &set);
  }
}

Answer RdmaRig::weft(const std::vector<std::string>& words, Nanoseconds limit) const {
  return user_.start(words).wait(limit);
}

Answer RdmaRig::in(const std::string& host, std::vector<std::string> argv, Nanoseconds limit) const {
  std::vector<std::string> words{"lab", "exec", host, "--name", name(), "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  return weft(words, limit);
}

RdmaRig::TestAgent::TestAgent(const RdmaRig& rig, std::string host, const std::string& program)
    : OtherAgent(rig, std::move(host)) {
  // Its file is the input of `weft lab exec`. Beside the old one first: that one runs.
  auto put = rig_.user().start_after({"sh", "-c", "exec \"$@\" <" WEFT_BINARY_DIR "/" + program, "sh"},
                                     {"lab", "exec", host_, "--name", rig_.name(), "--", "sh", "-c",
                                      "cat >/bin/other && chmod 755 /bin/other && mv /bin/weft /bin/kept && "
                                      "mv /bin/other /bin/weft"});
  const auto answer = put.wait(kMaxCopy);
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

RdmaRig::Restricted::Restricted(const RdmaRig& rig, std::string host, const std::string& words)
    : OtherAgent(rig, std::move(host)) {
  const auto answer = rig_.in(host_, {"sh", "-c",
                                      "mv /bin/weft /bin/kept && { echo '#!/bin/sh'; echo '" + words +
                                          " /bin/kept \"$@\"'; } >/bin/weft && chmod 755 /bin/weft"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

void RdmaRig::restore_nic(const std::string& host) const {
  const lab::LabNic nic = lab_->nics_of(lab_->fabric().find_node(host).value()).front();
  constexpr int kTable = 1001;  // of its first NIC (tests/rdma/guest_init)
  const auto script = fmt::format(
      "/bin/ip link set {0} up; /bin/ip address replace {1}/{2} dev {0};"
      "/bin/ip neighbour replace {3} lladdr {4} dev {0} nud permanent;"
      "/bin/ip route replace default via {3} dev {0} table {5};"
      "/bin/ip route replace default via {3} dev {0} src {1}",
      nic.interface, to_string(nic.address), lab_->addresses().link_prefix_length(), to_string(nic.gateway),
      nic.gateway_mac, kTable);
  const auto answer = in(host, {"sh", "-c", script});
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

RdmaRig::OtherAgent::~OtherAgent() {
  const auto answer = rig_.in(host_, {"sh", "-c", "test ! -e /bin/kept || mv /bin/kept /bin/weft"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

RigAnswers RdmaRig::run(const std::vector<std::string>& hosts,
                        std::vector<std::vector<session::WorkItem>> waves, const RigOrders& orders) const {
  const auto visit = os::NamespaceVisit::enter(lab_->management_namespace());
  WEFT_CHECK(visit.has_value());
  GivenWork work(std::move(waves));
  std::vector<NodeId> nodes;
  for (const auto& host : hosts) nodes.push_back(lab_->fabric().find_node(host).value());
  auto site = run::lab_site(*lab_, nodes);
  WEFT_CHECK(site.has_value());
  site->agent_options = {.engine = run::EngineKind::verbs,
                         .packets = orders.packets,
                         .exchange = orders.exchange,
                         .probes = orders.probes};
  for (run::AgentHost& host : site->hosts)
    if (const auto other = orders.nics.find(lab_->fabric().name_of(host.host)); other != orders.nics.end())
      host.nics.front().report = other->second;
  const auto done = run_with_agents(*site, run::ListenAddress{lab_->coordinator_address()}, lab_->fabric(),
                                    work, run::new_run_secrets(), [](const session::Progress&) {}, {});
  if (!done) work.seen.error = done.error().message;
  return work.seen;
}

std::vector<SeenPacket> RdmaRig::packets_of(std::string_view host,
                                            const std::function<void()>& during) const {
  const Fabric& fabric = lab_->fabric();
  const Port& leaf = fabric.port(fabric.target(*fabric.channel_from(nic(host))));
  auto visit = os::NamespaceVisit::enter(lab_->namespace_of(leaf.node));
  WEFT_CHECK(visit.has_value());
  std::optional<os::NamespaceVisit> inside(std::move(*visit));
  const auto capture = capture_on(fmt::format("p{}", leaf.number.value()));
  inside.reset();
  during();
  return read_packets(capture);
}

}  // namespace weft
