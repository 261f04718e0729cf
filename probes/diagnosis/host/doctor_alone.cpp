// What a host's report shows by itself, and against what the fabric file says of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "probes/diagnosis/host/device_faults.hpp"
#include "probes/diagnosis/host/doctor_findings.hpp"

namespace weft::diagnosis {
namespace {

/// Queue pairs lock the memory they send from: NCCL's guide asks for no limit, and some hundred connections
/// of a few MB each need this much at least.
constexpr Bytes kMinLocked(1'000'000'000);
/// Below it logs, sockets and NCCL's shared memory (some MB for each peer) do not fit.
constexpr Bytes kMinRoom(16'000'000);
/// Lines of logs of several hosts cannot be put in order beyond it.
constexpr auto kMaxClockError = std::chrono::seconds(1);
constexpr std::string_view kNvidia = "10de:";

bool has_driver(const HostFacts& report, std::string_view name) {
  return std::ranges::find(report.drivers, name) != report.drivers.end();
}

/// 10.0.0.1 of "10.0.0.1:4222", fd00::1 of "[fd00::1]:4222".
std::string address_of(const std::string& place) {
  auto address = place.substr(0, place.rfind(':'));
  std::erase_if(address, [](char c) { return c == '[' || c == ']'; });
  return address;
}

class Alone {
 public:
  Alone(const AskedHost& host, const DoctorExpectations& expectations, FoundTroubles& found)
      : host_(host), report_(*host.report), expectations_(expectations), found_(found) {}

  void run() {
    check_way_back();
    check_paths();
    check_rights();
    check_clock();
    for (const FileRoom& room : report_.rooms)
      if (room.free < kMinRoom)
        add(HostTrouble::no_room, Verdict::degraded, fmt::format("no room in {}", room.path),
            fmt::format("{} free", to_string(room.free)),
            fmt::format("@on: du -xsh {}/* | sort -h | tail, and remove what nobody needs",
                        pasteable(room.path)));
    check_wanted_nics();
    check_nics();
    for (const GpuInventory& gpu : report_.inventory.gpus)
      for (const DeviceFault& fault : device_faults(gpu)) add_device_fault(fault, "", gpu.pci);
    check_drivers();
    for (const KernelOffence& offence : report_.offences) add_offence(offence);
  }

 private:
  void add(HostTrouble trouble, Verdict verdict, std::string what, std::string evidence, std::string remedy) {
    found_.push_back({trouble, verdict, host_.name, std::move(what), std::move(evidence), std::move(remedy)});
  }

  void check_way_back() {
    const auto& at = expectations_.coordinator;
    if (report_.coordinator_takes_full == false)
      add(HostTrouble::path_mtu, Verdict::failed,
          fmt::format("connects to this machine at {}, but full packets of it do not come through", at), "",
          fmt::format(
              "@first: tracepath -n -b {}, and lower the MTU of its interface to what passes, or raise it "
              "where it stops",
              address_of(at)));
    if (report_.reaches_coordinator != false) return;
    add(HostTrouble::firewall, Verdict::failed, fmt::format("cannot connect to this machine at {}", at),
        report_.unreached_because.value_or(""),
        fmt::format("open a port here and name it: iptables -I INPUT -p tcp --dport 4222 -j ACCEPT; then "
                    "--listen {}:4222",
                    at.substr(0, at.rfind(':'))));
  }

  void check_paths() {
    for (const PathToNic& path : report_.paths) {
      if (!path.small_answered && expectations_.paired_by_name) continue;  // a note (notes_of)
      if (!path.small_answered)
        add(HostTrouble::nic_unreached, Verdict::degraded, "a NIC has no echo from another NIC of the run",
            fmt::format("{} to {}: no answer to ICMP", path.from, path.to),
            fmt::format("@first: ping -I {} {}; look at routes (ip route get {}) and at filters of ICMP",
                        pasteable(path.from), pasteable(path.to), pasteable(path.to)));
      else if (path.full && !path.full_answered)
        add(HostTrouble::path_mtu, Verdict::failed,
            fmt::format("packets of {} bytes do not come through to another NIC of the run",
                        path.full->count()),
            fmt::format("{} to {}: small packets are answered, those are not", path.from, path.to),
            fmt::format("@first: tracepath -n -b {}, and raise the MTU where it stops", pasteable(path.to)));
    }
  }

  void check_rights() {
    if (report_.sends_raw == false)
      add(HostTrouble::no_raw_packets, Verdict::failed, "weft may not send raw packets there", "",
          fmt::format("@on: setcap cap_net_raw,cap_ipc_lock+ep {}, or let agents be root",
                      pasteable(report_.program)));
    const bool rdma = std::ranges::any_of(
        report_.inventory.nics, [](const NicInventory& nic) { return nic.rdma_device.has_value(); });
    if (rdma && !report_.locks_any_memory && report_.lock_limit && *report_.lock_limit < kMinLocked)
      add(HostTrouble::memory_lock, Verdict::degraded,
          fmt::format("a process may lock {} of memory: queue pairs need more",
                      to_string(*report_.lock_limit)),
          "", "@on: echo '* - memlock unlimited' > /etc/security/limits.d/memlock.conf, and log in again");
  }

  /// The answer was made between the question and its arrival here: more is not known of its time.
  void check_clock() {
    const Nanoseconds early = host_.asked - report_.clock;
    const Nanoseconds late = report_.clock - host_.answered;
    const Nanoseconds off = std::max(early, late);
    if (off <= kMaxClockError) return;
    const auto seconds = std::chrono::duration<double>(off).count();
    const auto took = std::chrono::duration<double>(host_.answered - host_.asked).count();
    add(HostTrouble::clock_off, Verdict::degraded, "its clock is not this machine's",
        fmt::format("{:.0f} s {} at least, known to {:.1f} s", seconds, early > late ? "behind" : "ahead",
                    took),
        "@on: chronyc makestep (where there is none: apt-get install chrony)");
  }

  void check_wanted_nics() {
    const auto wanted = expectations_.nics.find(host_.name);
    if (wanted == expectations_.nics.end()) return;
    for (const WantedNic& nic : wanted->second) {
      const auto& nics = report_.inventory.nics;
      const auto told = std::ranges::find(nics, std::optional(nic.address), &NicInventory::served_as);
      if (told == nics.end())
        add(HostTrouble::nic_missing, Verdict::failed, "a NIC of the fabric file is not there",
            fmt::format("no interface has {}", nic.address),
            fmt::format("@first: ip -br address; give its interface {} or correct the fabric file",
                        nic.address));
      else
        check_against_file(*told, nic);
    }
  }

  void check_against_file(const NicInventory& nic, const WantedNic& wanted) {
    const auto interface = interface_of(nic);
    if (nic.rate && wanted.rate && *nic.rate < *wanted.rate)
      add(HostTrouble::rate_low, Verdict::degraded,
          fmt::format("{} runs at {}, its cable in the fabric file is {}", name_of(nic), to_string(*nic.rate),
                      to_string(*wanted.rate)),
          "",
          fmt::format("@on: ethtool -s {} autoneg on; stays it so, look at cable and switch port",
                      interface));
    if (nic.mtu && expectations_.mtu && *nic.mtu < *expectations_.mtu)
      add(HostTrouble::mtu_differs, Verdict::degraded,
          fmt::format("the MTU of {} is {}, the fabric's is {}", name_of(nic), nic.mtu->count(),
                      expectations_.mtu->count()),
          "", fmt::format("@on: ip link set dev {} mtu {}", interface, expectations_.mtu->count()));
  }

  void check_nics() {
    const auto judged = judged_nics(report_, expectations_);
    for (const NicInventory* nic : judged) check_nic(*nic);
    const auto wanted = expectations_.nics.find(host_.name);
    if (!judged.empty() || (wanted != expectations_.nics.end() && !wanted->second.empty())) return;
    if (!expectations_.nics.empty())
      add(HostTrouble::no_nic, Verdict::unknown, "the fabric file gives no address of its NICs", "",
          "give them in the fabric file (addresses:), or leave the host out with --hosts");
    else
      add(HostTrouble::no_nic, Verdict::unknown,
          fmt::format("no NIC that probes could go by is seen there: no RDMA device{}",
                      expectations_.roce ? ", no interface with an address and a carrier" : ""),
          "",
          "@on: ip -br address, and ls /sys/class/infiniband; in a container, give it the host's network; a "
          "fabric file (--fabric) says which NICs are meant");
  }

  void check_nic(const NicInventory& nic) {
    for (const DeviceFault& fault : device_faults(nic)) add_device_fault(fault, interface_of(nic), nic.pci);
    const bool ethernet = !nic.link_layer || *nic.link_layer == "Ethernet";
    if (expectations_.roce && ethernet && nic.gids && nic.gids->roce_v2 == 0)
      add(HostTrouble::no_gid, Verdict::failed,
          fmt::format("no RoCE v2 entry in the GID table of {}", nic.rdma_device.value_or(name_of(nic))), "",
          fmt::format("@on: ip address add ADDRESS dev {} (an interface without an address has no such GID)",
                      interface_of(nic)));
  }

  void add_device_fault(const DeviceFault& fault, const std::string& interface,
                        const std::optional<std::string>& pci) {
    std::string remedy =
        fmt::format("@on: ip link set dev {} up; look at its cable and its switch port", interface);
    if (fault.trouble == HostTrouble::pcie_link)
      remedy = fmt::format("reseat it, look at its slot; @on: lspci -vvs {} | grep LnkSta",
                           pasteable(pci.value_or("ADDRESS")));
    else if (fault.trouble == HostTrouble::port_not_active)
      remedy = fmt::format(
          "@on: ip link set dev {} up; stays it so, look at its cable (mlxlink) and, on "
          "InfiniBand, at the subnet manager (sminfo)",
          interface);
    // The text of a PCIe link names its own remedy behind the last colon.
    const auto what = fault.text.substr(0, fault.text.find(": reseat"));
    add(fault.trouble, fault.verdict, what, "", remedy);
  }

  void check_drivers() {
    const bool rdma = std::ranges::any_of(
        report_.inventory.nics, [](const NicInventory& nic) { return nic.rdma_device.has_value(); });
    const bool nvidia = std::ranges::any_of(
        report_.inventory.gpus, [](const GpuInventory& gpu) { return gpu.model.starts_with(kNvidia); });
    if (rdma && !has_driver(report_, "ib_uverbs"))
      add(HostTrouble::no_rdma_driver, Verdict::failed,
          "RDMA devices, but no module ib_uverbs: no queue pairs", "",
          "@on: modprobe ib_uverbs; echo ib_uverbs > /etc/modules-load.d/ib_uverbs.conf");
    if (nvidia && !report_.gpu_driver)
      add(HostTrouble::gpu_driver, Verdict::failed, "NVIDIA GPUs, but their driver is not loaded",
          "kernel " + report_.kernel,
          "@on: modprobe nvidia; where that fails: dkms status, and build it anew");
    else if (nvidia && rdma && !has_driver(report_, "nvidia_peermem") && !report_.gpu_driver_is_open)
      add(HostTrouble::no_gpu_direct, Verdict::degraded,
          "neither nvidia_peermem nor dma-buf: NICs cannot read GPU memory",
          fmt::format("driver {}", report_.gpu_driver.value_or("?")),
          "@on: modprobe nvidia_peermem; echo nvidia_peermem > /etc/modules-load.d/nvidia_peermem.conf");
  }

  void add_offence(const KernelOffence& offence) {
    const std::string device = offence.device.empty() ? "ADDRESS" : pasteable(offence.device);
    const std::string xid = offence.code ? fmt::format(" (Xid {})", *offence.code) : "";
    const std::string seen =
        fmt::format("{} in its kernel log, last: {}",
                    offence.count == 1 ? "once" : fmt::format("{} times", offence.count), offence.last);
    switch (offence.kind) {
      case KernelOffenceKind::gpu_off_bus:
        return add(
            HostTrouble::gpu_off_bus, Verdict::failed, fmt::format("GPU {} fell off the bus", device), seen,
            "drain it, then ipmitool -H BMC-OF-@host chassis power cycle; the same GPU again: replace it");
      case KernelOffenceKind::gpu_memory:
        return add(
            HostTrouble::gpu_memory, Verdict::failed,
            fmt::format("uncorrectable memory errors of GPU {}{}", device, xid), seen,
            fmt::format("drain it; @on: nvidia-smi -q -d ECC,ROW_REMAPPER, then nvidia-smi --gpu-reset -i {}",
                        device));
      case KernelOffenceKind::gpu_error:
        return add(HostTrouble::gpu_error, Verdict::degraded,
                   fmt::format("GPU {} reports errors{}", device, xid), seen,
                   fmt::format("@on: nvidia-smi --gpu-reset -i {}; again: dcgmi diag -r 3", device));
      case KernelOffenceKind::host_memory:
        return add(HostTrouble::host_memory, Verdict::failed, "uncorrectable errors of the host's memory",
                   seen, "@on: ras-mc-ctl --errors names the DIMM: replace it");
      case KernelOffenceKind::pcie_error:
        return add(HostTrouble::pcie_error, Verdict::degraded,
                   fmt::format("uncorrected PCIe errors of {}", device), seen,
                   fmt::format("reseat it; @on: lspci -vvs {} | grep -A3 UESta", device));
      case KernelOffenceKind::nic_unhealthy:
        return add(HostTrouble::nic_unhealthy, Verdict::failed, fmt::format("NIC {} has given up", device),
                   seen, fmt::format("@on: mlxfwreset -d {} -y reset; again: replace it", device));
    }
  }

  const AskedHost& host_;
  const HostFacts& report_;
  const DoctorExpectations& expectations_;
  FoundTroubles& found_;
};

/// Whether a NIC without RDMA is one that packets to other hosts may take: it has an address, and is no end
/// of a tunnel. A bridge of containers is down while it has none, which is no fault.
bool carries_probes(const NicInventory& nic, const HostFacts& report) {
  constexpr std::array<std::string_view, 3> kOthers{"tun", "wireguard", "dummy"};
  const auto own = nic.interface ? report.addresses.find(*nic.interface) : report.addresses.end();
  if (own == report.addresses.end() || std::ranges::all_of(own->second, is_link_local)) return false;
  const std::string_view driver = nic.driver ? std::string_view(*nic.driver) : "";
  if (std::ranges::count(kOthers, driver) > 0) return false;
  // The kernel tells of a carrier up to a second late: what shows none yet is neither good nor bad.
  return driver == "bridge" ? nic.up == true : nic.up.has_value();
}

}  // namespace

std::string pasteable(std::string text) {
  constexpr std::string_view kPlain = "_-./:=,@%+ ";
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && kPlain.find(c) == std::string_view::npos) c = '_';
  return text;
}

std::string interface_of(const NicInventory& nic) { return pasteable(nic.interface.value_or(name_of(nic))); }

std::vector<const NicInventory*> judged_nics(const HostFacts& report,
                                             const DoctorExpectations& expectations) {
  std::vector<const NicInventory*> nics;
  for (const NicInventory& nic : report.inventory.nics)
    if (nic.serves || (expectations.nics.empty() && nic.rdma_device)) nics.push_back(&nic);
  if (!nics.empty() || !expectations.nics.empty() || !expectations.roce) return nics;
  for (const NicInventory& nic : report.inventory.nics)
    if (carries_probes(nic, report)) nics.push_back(&nic);
  return nics;
}

void check_by_itself(const AskedHost& host, const DoctorExpectations& expectations, FoundTroubles& found) {
  Alone(host, expectations, found).run();
}

}  // namespace weft::diagnosis
