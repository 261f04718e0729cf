#include "tests/support/test_lab.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "topology/base/bytes.hpp"
#include "topology/base/check.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

constexpr int kIpHeader[2] = {20, 40};
constexpr int kUdpHeader = 8;
constexpr std::chrono::milliseconds kQuiet{200};  // no packet for so long: no more will come
constexpr std::chrono::seconds kMaxSettle{5};
constexpr std::chrono::seconds kMaxProgramLength{10};

int next_number() {
  static std::atomic<int> counter = 0;
  return counter++;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

SocketAddress socket_address(const IpAddress& address, std::uint16_t port) {
  SocketAddress out;
  if (address.is_v6()) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes().data(), 16);
    out.size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes().data(), 4);
    out.size = sizeof v4;
  }
  return out;
}

/// Unconnected: a connected socket hashes by its own value, not by its ports.
void send_datagrams(const lab::Lab& lab, PortId from, PortId to, const Datagrams& datagrams,
                    std::optional<int> hops = std::nullopt) {
  const auto visit = os::NamespaceVisit::enter(lab.namespace_of(lab.fabric().port(from).node));
  WEFT_CHECK(visit.has_value());
  const IpAddress source = lab.nic(from).address;
  const os::FileDescriptor socket_fd(
      socket(source.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto here = socket_address(source, datagrams.label);
  const auto there = socket_address(lab.nic(to).address, 4791);
  WEFT_CHECK(bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&here.storage), here.size) == 0);
  if (hops && source.is_v6())
    setsockopt(socket_fd.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, &*hops, sizeof(int));
  if (hops && !source.is_v6()) setsockopt(socket_fd.get(), IPPROTO_IP, IP_TTL, &*hops, sizeof(int));
  const std::string payload(
      static_cast<std::size_t>(datagrams.size - kUdpHeader - kIpHeader[source.is_v6() ? 1 : 0]), 'x');
  for (int i = 0; i < datagrams.count; ++i) {
    (void)sendto(socket_fd.get(), payload.data(), payload.size(), 0,
                 reinterpret_cast<const sockaddr*>(&there.storage), there.size);
    if (datagrams.gap > Nanoseconds(0)) std::this_thread::sleep_for(datagrams.gap);
  }
}

/// Sees all packets of the lab's family that come in at a NIC.
os::FileDescriptor open_tap(const TestLab& lab, PortId nic) {
  const auto visit = os::NamespaceVisit::enter(lab->namespace_of(lab.fabric().port(nic).node));
  WEFT_CHECK(visit.has_value());
  const std::uint16_t protocol = htons(lab->settings().family == IpFamily::v4 ? ETH_P_IP : ETH_P_IPV6);
  os::FileDescriptor tap(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = protocol;
  at.sll_ifindex = static_cast<int>(if_nametoindex(lab->nic(nic).interface.c_str()));
  WEFT_CHECK(bind(tap.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  const int room = 32 << 20;  // bytes: some thousand packets
  WEFT_CHECK(setsockopt(tap.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0);
  return tap;
}

/// Reads what there is to read; how many of it go to UDP port 4791.
int take_roce_packets(const os::FileDescriptor& tap, IpFamily family) {
  const bool v6 = family == IpFamily::v6;
  const std::size_t udp = v6 ? 40 : 20;
  std::array<std::byte, 128> packet{};
  int count = 0;
  for (ssize_t got = 0; (got = recv(tap.get(), packet.data(), packet.size(), 0)) > 0;) {
    const ByteSpan bytes(packet.data(), static_cast<std::size_t>(got));
    if (bytes.size() < udp + 4) continue;
    if (load_u8(bytes, v6 ? 6 : 9) == IPPROTO_UDP && load_be16(bytes, udp + 2) == 4791) ++count;
  }
  return count;
}

/// bytes in, packets in, bytes out, packets out: proc(5), /proc/net/dev.
std::array<std::uint64_t, 4> counters_at(const TestLab& lab, PortId id) {
  const Port& port = lab.fabric().port(id);
  const auto visit = os::NamespaceVisit::enter(lab->namespace_of(port.node));
  WEFT_CHECK(visit.has_value());
  const std::string wanted = lab::interface_name(port.number) + ":";
  std::ifstream file("/proc/thread-self/net/dev");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    std::array<std::uint64_t, 16> values{};
    fields >> name;
    if (name != wanted) continue;
    for (auto& value : values) fields >> value;
    return {values[0], values[1], values[8], values[9]};
  }
  WEFT_CHECK(false);
}

}  // namespace

TestDirectory::TestDirectory()
    : path_(std::filesystem::temp_directory_path() /
            fmt::format("weft-test-{}-{}", getpid(), next_number())) {
  std::filesystem::create_directories(path_);
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string unique_lab_name() { return fmt::format("t{}-{}", getpid(), next_number()); }

TestLab::TestLab(const Fabric& fabric, const LabSettings& settings) : TestLab(fabric, settings, {}) {}

TestLab::TestLab(const Fabric& fabric, const LabSettings& settings, std::filesystem::path state_root) {
  if (!state_root.empty()) root_ = std::move(state_root);
  auto up = lab::lab_up(unique_lab_name(), fabric, settings, root());
  if (!up) fmt::print(stderr, "test lab: {}\n", up.error().message);
  WEFT_CHECK(up.has_value());
  lab_ = std::move(up->lab);
}

TestLab::~TestLab() {
  const auto down = lab::lab_down(lab_->name(), root());
  EXPECT_TRUE(down) << down.error().message;
}

Result<void> TestLab::fault(std::string_view text) const {
  const auto spec = parse_fault(fabric(), text);
  if (!spec) return pass_on(spec);
  return lab_fault(**this, *spec, root());
}

Result<std::string> TestLab::run_in(std::string_view name, const std::vector<std::string>& argv) const {
  const auto visit = os::NamespaceVisit::enter(lab_->namespace_of(node(name)));
  if (!visit) return pass_on(visit);
  return os::run_program(argv, "", kMaxProgramLength);
}

int arrived(const TestLab& lab, const Datagrams& datagrams) {
  const PortId to = lab.nic(datagrams.to);
  const os::FileDescriptor tap = open_tap(lab, to);
  send_datagrams(*lab, lab.nic(datagrams.from), to, datagrams);
  const auto deadline = std::chrono::steady_clock::now() + kMaxSettle;
  int count = 0;
  pollfd readable{.fd = tap.get(), .events = POLLIN, .revents = 0};
  while (count < datagrams.count && std::chrono::steady_clock::now() < deadline &&
         poll(&readable, 1, kQuiet.count()) == 1)
    count += take_roce_packets(tap, lab->settings().family);
  return count;
}

PacketCounts packets_at(const TestLab& lab, PortId port) {
  const auto counters = counters_at(lab, port);
  return {.in = counters[1], .out = counters[3]};
}

std::uint64_t bytes_into(const TestLab& lab, PortId port) { return counters_at(lab, port)[0]; }

ChannelId kernel_choice(const TestLab& lab, std::string_view node, std::string_view from, std::string_view to,
                        std::uint16_t label) {
  const auto said = lab.run_in(node, {"ip", "route", "get", to_string(lab->nic(lab.nic(to)).address), "from",
                                      to_string(lab->nic(lab.nic(from)).address), "iif", "lo", "ipproto",
                                      "udp", "sport", std::to_string(label), "dport", "4791"});
  if (!said) fmt::print(stderr, "{}\n", said.error().message);
  WEFT_CHECK(said.has_value());
  std::istringstream words(*said);
  std::string word;
  while (words >> word && word != "dev") {
  }
  words >> word;
  const PortId port = lab.fabric().find_port(fmt::format("{}/{}", node, word)).value();
  return lab.fabric().channel_from(port).value();
}

std::vector<ChannelId> kernel_path(const TestLab& lab, std::string_view from, std::string_view to,
                                   std::uint16_t label) {
  std::vector<ChannelId> path = {lab.fabric().channel_from(lab.nic(from)).value()};
  while (lab.fabric().target(path.back()) != lab.nic(to)) {
    WEFT_CHECK(path.size() < 8);
    path.push_back(
        kernel_choice(lab, lab.fabric().name_of(lab.fabric().target_node(path.back())), from, to, label));
  }
  return path;
}

std::optional<IpAddress> answer_after(const TestLab& lab, const Datagrams& datagrams, int hops) {
  const PortId from = lab.nic(datagrams.from);
  const bool v6 = lab->settings().family == IpFamily::v6;
  const auto visit = os::NamespaceVisit::enter(lab->namespace_of(lab.fabric().port(from).node));
  const os::FileDescriptor errors(
      socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC, v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}));
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  setsockopt(errors.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  send_datagrams(*lab, from, lab.nic(datagrams.to), datagrams, hops);
  std::array<char, 2048> packet{};
  sockaddr_storage sender{};
  socklen_t size = sizeof sender;
  if (recvfrom(errors.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&sender), &size) <=
      0)
    return std::nullopt;
  char text[INET6_ADDRSTRLEN];
  const void* address = v6 ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6&>(sender).sin6_addr)
                           : &reinterpret_cast<sockaddr_in&>(sender).sin_addr;
  inet_ntop(sender.ss_family, address, text, sizeof text);
  return IpAddress::parse(text).value();
}

}  // namespace weft
