#include "tests/support/rdma_rig.hpp"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <unistd.h>
#include <algorithm>
#include <array>

#include "cli/agent_session.hpp"
#include "cli/compose.hpp"
#include "cli/lab_place.hpp"
#include "probes/wire/bth.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/check.hpp"
#include "topology/lab/network_namespace.hpp"

namespace weft {
namespace {

constexpr std::chrono::seconds kLongestBoot{200};
constexpr std::chrono::seconds kLongestCopy{60};
constexpr std::uint16_t kRocePort = 4791;
constexpr int kCaptureBuffer = 16 << 20;

/// Waves given beforehand; keeps what comes.
class GivenWork final : public Script {
 public:
  explicit GivenWork(std::vector<std::vector<WorkItem>> waves) : waves_(std::move(waves)) {}
  std::vector<WorkItem> next_wave() override {
    if (next_ >= waves_.size()) return {};
    auto wave = waves_[next_++];
    std::erase_if(wave, [this](const WorkItem& item) { return excluded_.contains(item.nic); });
    return wave.empty() ? next_wave() : wave;
  }
  void take(const WorkItem&, const TaskAnswer* answer) override {
    seen.answers.push_back(answer ? std::optional(*answer) : std::nullopt);
  }
  void exclude(PortId nic) override { excluded_.insert(nic); }
  void blame(HostEvidence evidence) override { seen.blamed.push_back(std::move(evidence)); }
  std::string_view doing() const override { return "working"; }
  RigAnswers seen;

 private:
  std::vector<std::vector<WorkItem>> waves_;
  std::size_t next_ = 0;
  std::set<PortId> excluded_;
};

FileDescriptor capture_on(const std::string& interface) {
  FileDescriptor fd(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP)));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_IP);
  at.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  WEFT_CHECK(bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kCaptureBuffer, sizeof kCaptureBuffer);
  return fd;
}

PortsByQp read_ports(const FileDescriptor& fd) {
  PortsByQp seen;
  std::array<std::byte, 128> packet{};
  for (ssize_t got = 0; (got = recv(fd.get(), packet.data(), packet.size(), 0)) > 0;) {
    const ByteSpan bytes(packet.data(), std::min(static_cast<std::size_t>(got), packet.size()));
    if (bytes.size() < 40 || load_u8(bytes, 9) != 17 || load_be16(bytes, 22) != kRocePort) continue;
    // IPv4 without options: UDP at 20, BTH at 28, its destination queue pair at 28 + 5.
    seen[QpNum(load_be24(bytes, 33))].insert(UdpPort(load_be16(bytes, 20)));
  }
  return seen;
}

}  // namespace

std::string missing_for_guests() {
  if (geteuid() != 0) return "needs root";
  for (const char* file : {"/usr/bin/qemu-system-x86_64", "/bin/busybox", "/usr/bin/cpio"})
    if (!std::filesystem::exists(file))
      return fmt::format("no {}: install what cmake/test_packages.txt lists", file);
  const auto image = run_program({WEFT_SOURCE_DIR "/tests/rdma/build_guest_image", WEFT_BINARY_DIR}, "",
                                 std::chrono::minutes(5));
  return image ? "" : image.error().message;
}

bool RigAnswers::blames(const std::string& text) const {
  return std::ranges::any_of(blamed,
                             [&](const HostEvidence& e) { return e.text.find(text) != std::string::npos; });
}

RdmaRig::RdmaRig(std::string_view fabric) : user_(fabric) {
  const auto began = std::chrono::steady_clock::now();
  const auto up = weft({"lab", "up", user_.fabric_file(), "--name", name()}, kLongestBoot);
  boot_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (up.status != 0) trouble_ = up.errors;
  if (auto lab = Lab::open(name(), lab_state_root()))
    lab_ = std::move(*lab);
  else
    trouble_ += lab.error().message;
}

Peer RdmaRig::peer(std::string_view host) const {
  return {nic(host), lab_->addresses().book.address_of(nic(host)).value()};
}

Answer RdmaRig::weft(const std::vector<std::string>& words, Nanoseconds limit) const {
  return user_.start(words).wait(limit);
}

Answer RdmaRig::in(const std::string& host, std::vector<std::string> argv) const {
  std::vector<std::string> words{"lab", "exec", host, "--name", name(), "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  return weft(words);
}

RdmaRig::BadMemory::BadMemory(const RdmaRig& rig, std::string host) : rig_(rig), host_(std::move(host)) {
  // Its file is the input of `weft lab exec`. Beside the old one first: that one runs.
  auto put = rig_.user().start_after({"sh", "-c", "exec \"$@\" <" WEFT_BINARY_DIR "/flipping_agent", "sh"},
                                     {"lab", "exec", host_, "--name", rig_.name(), "--", "sh", "-c",
                                      "cat >/bin/flipping && chmod 755 /bin/flipping && mv /bin/weft "
                                      "/bin/kept && mv /bin/flipping /bin/weft"});
  const auto answer = put.wait(kLongestCopy);
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

RdmaRig::BadMemory::~BadMemory() {
  const auto answer = rig_.in(host_, {"sh", "-c", "test ! -e /bin/kept || mv /bin/kept /bin/weft"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

RigAnswers RdmaRig::run(const std::vector<std::string>& hosts,
                        std::vector<std::vector<WorkItem>> waves) const {
  const auto visit = NamespaceVisit::enter(lab_->management_namespace());
  WEFT_CHECK(visit.has_value());
  GivenWork work(std::move(waves));
  std::vector<NodeId> nodes;
  for (const auto& host : hosts) nodes.push_back(lab_->fabric().find_node(host).value());
  auto site = lab_site(*lab_, nodes);
  WEFT_CHECK(site.has_value());
  site->engine = "verbs";
  const auto done = run_with_agents(*site, ListenAddress{lab_->coordinator_address()}, lab_->fabric(), work,
                                    new_run_secrets(), [](const Progress&) {}, {});
  if (!done) work.seen.error = done.error().message;
  return work.seen;
}

PortsByQp RdmaRig::ports_used(std::string_view host, const std::function<void()>& during) const {
  const Fabric& fabric = lab_->fabric();
  const Port& leaf = fabric.port(fabric.target(*fabric.channel_from(nic(host))));
  auto visit = NamespaceVisit::enter(lab_->namespace_of(leaf.node));
  WEFT_CHECK(visit.has_value());
  std::optional<NamespaceVisit> inside(std::move(*visit));
  const auto capture = capture_on(fmt::format("p{}", leaf.number.value()));
  inside.reset();
  during();
  return read_ports(capture);
}

}  // namespace weft
