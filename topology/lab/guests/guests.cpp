#include "topology/lab/guests/guests.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::lab {
namespace {

// A guest is ready in 3 to 12 s; emulated beside a build that takes all processors, in a minute.
constexpr std::chrono::minutes kMaxBoot{3};
constexpr std::chrono::milliseconds kPoll{100};
/// Half of what the image leaves of it is the guest's file system: the image (57 MB), and a second weft
/// beside its own.
constexpr int kGuestMegabytes = 384;

std::filesystem::path image_of(const Lab& lab) { return lab.settings().guest_image; }

Result<void> check_image(const std::filesystem::path& image) {
  std::error_code error;
  for (const char* part : {"kernel", "initrd", "weft"})
    if (!std::filesystem::exists(image / part, error))
      return fail(ErrorKind::absent,
                  "there is no {}: make what guests boot with tests/rdma/build_guest_image",
                  (image / part).string());
  return {};
}

std::size_t host_number(const Lab& lab, NodeId host) {
  const auto hosts = lab.fabric().hosts();
  return static_cast<std::size_t>(std::ranges::find(hosts, host) - hosts.begin());
}

std::string last_lines(const std::filesystem::path& console) {
  std::ifstream file(console, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  constexpr std::size_t kMax = 600;
  return text.size() > kMax ? text.substr(text.size() - kMax) : text;
}

struct Guest {
  NodeId host;
  os::ChildProcess machine;
  std::filesystem::path console;
};

Result<Guest> start_guest(const Lab& lab, NodeId host, const std::filesystem::path& directory) {
  const std::string name = lab.fabric().name_of(host);
  const auto console = directory / (name + ".log");
  auto argv = guest_command(lab, host, image_of(lab));
  argv.insert(argv.end(), {"-pidfile", (directory / (name + ".pid")).string()});
  auto machine = os::ChildProcess::start({.argv = std::move(argv),
                                          .output = os::ToFile{console},
                                          .errors = os::ToFile{directory / (name + ".qemu.log")},
                                          .dies_with_parent = false,
                                          .own_session = true,
                                          .network_namespace = lab.namespace_of(host)});
  if (machine) return Guest{host, std::move(*machine), console};
  if (machine.error().kind != ErrorKind::absent) return pass_on(machine, name);
  return fail(ErrorKind::absent, "{}: install the package qemu-system-x86", machine.error().message);
}

/// True when it takes commands.
Result<bool> is_ready(const Lab& lab, Guest& guest) {
  if (!guest.machine.running())
    return fail(ErrorKind::absent, "the guest {} ended while it booted:\n{}",
                lab.fabric().name_of(guest.host), last_lines(guest.console));
  return answers_commands(lab.management_address(guest.host), kGuestCommandPort);
}

Result<void> await(const Lab& lab, std::vector<Guest>& guests, const std::stop_token& stop) {
  WEFT_TRY(const auto visit, os::NamespaceVisit::enter(lab.management_namespace()));
  const auto deadline = std::chrono::steady_clock::now() + kMaxBoot;
  for (Guest& guest : guests)
    while (true) {
      if (stop.stop_requested()) return fail(ErrorKind::conflict, "stopped while the guests booted");
      WEFT_TRY(const auto ready, is_ready(lab, guest));
      if (ready) break;
      if (std::chrono::steady_clock::now() > deadline)
        return fail(ErrorKind::timeout, "the guest {} did not boot within three minutes:\n{}",
                    lab.fabric().name_of(guest.host), last_lines(guest.console));
      std::this_thread::sleep_for(kPoll);
    }
  return {};
}

void add_nic(std::vector<std::string>& argv, const std::string& tap, const std::string& mac,
             std::int64_t mtu) {
  argv.insert(argv.end(),
              {"-netdev", fmt::format("tap,id={0},ifname={0},script=no,downscript=no", tap), "-device",
               fmt::format("virtio-net-pci,netdev={},mac={},host_mtu={},romfile=", tap, mac, mtu)});
}

}  // namespace

std::vector<std::string> guest_command(const Lab& lab, NodeId guest, const std::filesystem::path& image) {
  const std::string management_mac = management_mac_of(host_number(lab, guest));
  std::string words =  // an emulated processor speculates nothing that mitigations would have to undo
      fmt::format(
          "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check weft.name={} weft.mgmt={},{}/{}",
          lab.fabric().name_of(guest), management_mac, to_string(lab.management_address(guest)),
          kManagementPrefixLength);
  std::vector<std::string> argv{"qemu-system-x86_64",
                                "-accel",
                                "tcg",
                                "-M",
                                "q35",
                                "-m",
                                std::to_string(kGuestMegabytes),
                                "-nodefaults",
                                "-no-reboot",
                                "-display",
                                "none",
                                "-serial",
                                "stdio",
                                "-kernel",
                                (image / "kernel").string(),
                                "-initrd",
                                (image / "initrd").string()};
  constexpr std::int64_t kManagementMtu = 1500;
  add_nic(argv, guest_tap_name(kManagementInterface), management_mac, kManagementMtu);
  for (const LabNic& nic : lab.nics_of(guest)) {
    add_nic(argv, guest_tap_name(nic.interface), nic.mac, nic.mtu.count());
    words += fmt::format(" weft.nic={},{},{}/{},{},{},{}", nic.interface, nic.mac, to_string(nic.address),
                         lab.addresses().link_prefix_length(), to_string(nic.gateway), nic.gateway_mac,
                         nic.mtu.count());
  }
  argv.insert(argv.end(), {"-append", words});
  return argv;
}

Result<void> boot_guests(const Lab& lab, const std::filesystem::path& directory, std::stop_token stop) {
  WEFT_TRY_VOID(check_image(image_of(lab)));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  std::vector<Guest> guests;
  for (const std::string& name : lab.settings().guests) {
    WEFT_TRY(auto guest, start_guest(lab, lab.fabric().find_node(name).value(), directory));
    guests.push_back(std::move(guest));
  }
  WEFT_TRY_VOID(await(lab, guests, stop));
  for (Guest& guest : guests) std::move(guest.machine).release();
  return {};
}

std::vector<std::string> ended_guests(const std::vector<std::string>& guests,
                                      const std::filesystem::path& directory) {
  std::vector<std::string> ended;
  for (const std::string& guest : guests) {
    const auto pid_file = directory / (guest + ".pid");
    pid_t pid = 0;
    std::ifstream(pid_file) >> pid;
    // Another process may have the number by now; only the guest's own names this file.
    std::ifstream words(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
    const std::string command((std::istreambuf_iterator<char>(words)), {});
    if (command.find(pid_file.string()) == std::string::npos) ended.push_back(guest);
  }
  return ended;
}

os::ChildSpec in_guest(const Lab& lab, NodeId guest, os::ChildSpec spec) {
  std::vector<std::string> argv{(image_of(lab) / "weft").string(), "guest-run",
                                to_string(lab.management_address(guest))};
  for (const std::string& entry : spec.env) {
    argv.push_back("--env");  // the name alone: a value may be a secret, and this line can be read by all
    argv.push_back(entry.substr(0, entry.find('=')));
  }
  if (spec.with_stdin || !spec.input.empty()) argv.push_back("--stdin");
  argv.push_back("--");
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  spec.argv = std::move(argv);
  spec.network_namespace = lab.management_namespace();
  return spec;
}

}  // namespace weft::lab
