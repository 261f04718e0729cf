#include "tests/support/doctored_fleet.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

using std::chrono::seconds;

constexpr Nanoseconds kNoon = std::chrono::hours(490'000);  // of a day in 2025
constexpr Nanoseconds kLogin = std::chrono::milliseconds(400);

PcieLink wide_link() { return {16, PcieSpeed::giga_transfers(32), 16, PcieSpeed::giga_transfers(32)}; }

NicInventory good_nic(int number) {
  NicInventory nic{.interface = fmt::format("eth{}", number), .rdma_device = fmt::format("mlx5_{}", number)};
  nic.pci = fmt::format("0000:{}a:00.0", number + 1);
  nic.model = "15b3:1021";
  nic.link = wide_link();
  nic.firmware = "28.39.2048";
  nic.mtu = Bytes(4200);
  nic.up = true;
  nic.port_state = "ACTIVE";
  nic.rate = Bandwidth::gbit(400);
  nic.link_layer = "Ethernet";
  nic.gids = GidCounts{2, 2};
  nic.settings = {{"PFC priorities", "3"}, {"DSCP to priority", "24-31:3 48:6"}, {"trust", "dscp"}};
  return nic;
}

AskedHost good_host(int number) {
  HostFacts facts{.version = "0.2.0", .protocol = 5, .program = "/usr/bin/weft", .machine = "x86_64"};
  facts.kernel = "6.1.0-18-amd64";
  facts.identity = fmt::format("boot{}/4026531840", number);
  facts.sends_raw = true;
  facts.locks_any_memory = true;
  facts.clock = kNoon + kLogin / 2;
  facts.clock_follows = true;
  facts.gpu_driver = "550.54.15";
  facts.drivers = {"mlx5_core", "mlx5_ib", "ib_uverbs", "nvidia", "nvidia_peermem"};
  facts.rooms = {{"/tmp", Bytes(50'000'000'000)}, {"/dev/shm", Bytes(50'000'000'000)}};
  facts.kernel_log_read = true;
  facts.reaches_coordinator = true;
  for (int nic = 0; nic < 2; ++nic) facts.inventory.nics.push_back(good_nic(nic));
  for (int gpu = 0; gpu < 8; ++gpu)
    facts.inventory.gpus.push_back({fmt::format("0000:{}8:00.0", gpu), "10de:2330", 0, wide_link(), {}});
  AskedHost host{.name = fmt::format("gpu{}", number)};
  host.report = std::move(facts);
  host.asked = kNoon;
  host.answered = kNoon + kLogin;
  return host;
}

KernelOffence offence(KernelOffenceKind kind, std::optional<std::uint32_t> code) {
  return {kind, "0000:18:00.0", code, 3, "NVRM: Xid (PCI:0000:18:00): ..."};
}

void add_silent(std::vector<TroubleCase>& cases) {
  const auto silent = [&](HostTrouble trouble, std::optional<int> exit_code, const char* words,
                          const char* command) {
    cases.push_back(
        {trouble, "gpu3", [=](DoctoredFleet& fleet) { fleet.silence(2, exit_code, words); }, command});
  };
  silent(HostTrouble::unreachable, 255, "ssh: connect to host gpu3 port 22: Connection refused", "ping");
  silent(HostTrouble::host_key, 255, "Host key verification failed.", "ssh-keygen -R gpu3");
  silent(HostTrouble::login_refused, 255, "root@gpu3: Permission denied (publickey).", "ssh-copy-id gpu3");
  silent(HostTrouble::no_weft, 127, "sh: 1: /usr/bin/weft: not found", "scp /usr/bin/weft gpu3:");
  silent(HostTrouble::wrong_machine, 126,
         "bash: /usr/bin/weft: cannot execute binary file: Exec format error", "ssh gpu3 uname -m");
  silent(
      HostTrouble::missing_libraries, 127,
      "/usr/bin/weft: error while loading shared libraries: libfmt.so.9: cannot open shared object file: No "
      "such file or directory",
      "ldd /usr/bin/weft");
  silent(HostTrouble::other_version, 64, "weft: unknown command 'doctor-report'", "scp");
  silent(HostTrouble::bad_answer, 1, "Segmentation fault", "ssh gpu3 /usr/bin/weft doctor-report");
  cases.push_back({HostTrouble::no_answer, "gpu3",
                   [](DoctoredFleet& fleet) {
                     fleet.silence(2, std::nullopt, "");
                     fleet.hosts[2].silence = HostTrouble::no_answer;
                   },
                   "--gather"});
  cases.push_back({HostTrouble::other_version, "gpu3",
                   [](DoctoredFleet& fleet) { fleet.facts(2) = {.version = "0.1.0", .protocol = 4}; },
                   "scp"});
}

/// Of one host's facts.
void add_facts(std::vector<TroubleCase>& cases) {
  const auto change = [&](HostTrouble trouble, std::function<void(HostFacts&)> put_in, const char* command) {
    cases.push_back({trouble, "gpu3", [put_in](DoctoredFleet& fleet) { put_in(fleet.facts(2)); }, command});
  };
  change(
      HostTrouble::firewall, [](HostFacts& f) { f.reaches_coordinator = false; }, "iptables");
  change(
      HostTrouble::path_mtu, [](HostFacts& f) { f.coordinator_takes_full = false; }, "tracepath");
  change(
      HostTrouble::path_mtu,
      [](HostFacts& f) {
        f.paths = {{"10.0.0.3", "10.0.0.4", true, Bytes(4200), false}};
      },
      "tracepath");
  change(
      HostTrouble::nic_unreached,
      [](HostFacts& f) {
        f.paths = {{"10.0.0.3", "10.0.0.4", false, std::nullopt, false}};
      },
      "ping -I");
  change(
      HostTrouble::no_raw_packets, [](HostFacts& f) { f.sends_raw = false; }, "setcap cap_net_raw");
  change(
      HostTrouble::memory_lock,
      [](HostFacts& f) { f.locks_any_memory = false, f.lock_limit = Bytes(8'388'608); }, "memlock unlimited");
  change(
      HostTrouble::clock_off, [](HostFacts& f) { f.clock += seconds(12); }, "chronyc makestep");
  change(
      HostTrouble::clock_off, [](HostFacts& f) { f.clock -= seconds(3600); }, "chronyc makestep");
  change(
      HostTrouble::clock_loose, [](HostFacts& f) { f.clock_follows = false; }, "systemctl enable");
  change(
      HostTrouble::no_room, [](HostFacts& f) { f.rooms[1].free = Bytes(0); }, "du -xsh /dev/shm");
  change(
      HostTrouble::same_machine, [](HostFacts& f) { f.identity = "boot1/4026531840"; }, "getent hosts");
  change(
      HostTrouble::no_rdma_driver, [](HostFacts& f) { std::erase(f.drivers, "ib_uverbs"); },
      "modprobe ib_uverbs");
  change(
      HostTrouble::gpu_driver, [](HostFacts& f) { f.gpu_driver.reset(); }, "modprobe nvidia");
  change(
      HostTrouble::gpu_driver, [](HostFacts& f) { f.gpu_driver = "535.1"; }, "550.54.15");
  change(
      HostTrouble::no_gpu_direct, [](HostFacts& f) { std::erase(f.drivers, "nvidia_peermem"); },
      "modprobe nvidia_peermem");
  change(
      HostTrouble::gpu_missing, [](HostFacts& f) { f.inventory.gpus.pop_back(); }, "lspci");
  change(
      HostTrouble::nic_missing, [](HostFacts& f) { f.inventory.nics.pop_back(); }, "lspci");
  change(
      HostTrouble::no_nic,
      [](HostFacts& f) {
        for (NicInventory& nic : f.inventory.nics) nic.rdma_device.reset(), nic.up.reset();
      },
      "ip -br address");
}

/// Of what one host's kernel says.
void add_offences(std::vector<TroubleCase>& cases) {
  const auto seen = [&](HostTrouble trouble, KernelOffenceKind kind, std::optional<std::uint32_t> code,
                        const char* command) {
    cases.push_back({trouble, "gpu3",
                     [=](DoctoredFleet& fleet) { fleet.facts(2).offences = {offence(kind, code)}; },
                     command});
  };
  seen(HostTrouble::gpu_off_bus, KernelOffenceKind::gpu_off_bus, 79, "chassis power cycle");
  seen(HostTrouble::gpu_memory, KernelOffenceKind::gpu_memory, 94, "nvidia-smi --gpu-reset -i 0000:18:00.0");
  seen(HostTrouble::gpu_error, KernelOffenceKind::gpu_error, 119, "dcgmi diag");
  seen(HostTrouble::host_memory, KernelOffenceKind::host_memory, std::nullopt, "ras-mc-ctl");
  seen(HostTrouble::pcie_error, KernelOffenceKind::pcie_error, std::nullopt, "lspci -vvs 0000:18:00.0");
  seen(HostTrouble::nic_unhealthy, KernelOffenceKind::nic_unhealthy, std::nullopt, "mlxfwreset");
}

/// Of one NIC.
void add_nics(std::vector<TroubleCase>& cases) {
  const auto change = [&](HostTrouble trouble, std::function<void(NicInventory&)> put_in,
                          const char* command) {
    cases.push_back({trouble, "gpu3", [put_in](DoctoredFleet& fleet) { put_in(fleet.nic(2)); }, command});
  };
  change(
      HostTrouble::nic_down, [](NicInventory& n) { n.port_state.reset(), n.up = false; },
      "ip link set dev eth0 up");
  change(
      HostTrouble::port_not_active, [](NicInventory& n) { n.port_state = "DOWN"; },
      "ip link set dev eth0 up");
  change(
      HostTrouble::no_gid,
      [](NicInventory& n) {
        n.gids = GidCounts{2, 0};
      },
      "ip address add");
  change(
      HostTrouble::mtu_differs, [](NicInventory& n) { n.mtu = Bytes(1500); },
      "ip link set dev eth0 mtu 4200");
  change(
      HostTrouble::rate_low, [](NicInventory& n) { n.rate = Bandwidth::gbit(200); }, "ethtool -s eth0");
  change(
      HostTrouble::pcie_link, [](NicInventory& n) { n.link.lanes = 8; }, "lspci -vvs 0000:1a:00.0");
  change(
      HostTrouble::firmware_differs, [](NicInventory& n) { n.firmware = "28.36.1010"; }, "mlxfwmanager");
  change(
      HostTrouble::setting_differs, [](NicInventory& n) { n.settings["PFC priorities"] = "none"; },
      "mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0");
  change(
      HostTrouble::setting_differs, [](NicInventory& n) { n.settings["trust"] = "pcp"; }, "--trust dscp");
}

}  // namespace

DoctoredFleet::DoctoredFleet() {
  for (int number = 1; number <= 8; ++number) hosts.push_back(good_host(number));
  expectations.version = "0.2.0";
  expectations.protocol = 5;
  expectations.program = "/usr/bin/weft";
  expectations.coordinator = "10.0.0.9:4222";
  expectations.limit = "20s";
}

void DoctoredFleet::silence(std::size_t host, std::optional<int> exit_code, const std::string& words) {
  hosts[host].report.reset();
  hosts[host].silence = diagnosis::why_silent(exit_code, words);
  hosts[host].words = words;
}

std::vector<TroubleCase> trouble_cases() {
  std::vector<TroubleCase> cases;
  add_silent(cases);
  add_facts(cases);
  add_offences(cases);
  add_nics(cases);
  cases.push_back({HostTrouble::slow_login, "gpu3",
                   [](DoctoredFleet& fleet) { fleet.hosts[2].answered = fleet.hosts[2].asked + seconds(9); },
                   "ssh gpu3 true"});
  cases.push_back({HostTrouble::nic_missing, "gpu3",
                   [](DoctoredFleet& fleet) {
                     for (AskedHost& host : fleet.hosts) {
                       fleet.expectations.nics[host.name] = {{"10.0.0.1", Bandwidth::gbit(400)}};
                       host.report->inventory.nics[0].served_as = "10.0.0.1";
                     }
                     fleet.nic(2).served_as.reset();
                   },
                   "ip -br address"});
  return cases;
}

}  // namespace weft
