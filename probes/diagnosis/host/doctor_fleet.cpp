// What one host of a fleet has and most others have not: settings, versions, devices, clocks, patience.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "probes/diagnosis/host/doctor_findings.hpp"
#include "probes/diagnosis/host/majority.hpp"

namespace weft::diagnosis {
namespace {

/// A login that takes this long, and so many times the median, has a cause of its own (a name server, a home
/// directory): the median of a fleet is below one second.
constexpr auto kSlowLogin = std::chrono::seconds(5);
constexpr int kSlowFactor = 5;

/// "3-5" -> "0,0,0,1,1,1,0,0", as mlnx_qos takes it.
std::string priority_switches(std::string_view value) {
  std::string bits = "0,0,0,0,0,0,0,0";
  char from = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c < '0' || c > '7') continue;
    const bool ends_range = i > 0 && value[i - 1] == '-' && from != 0;
    for (char each = ends_range ? from : c; each <= c; ++each)
      bits[static_cast<std::size_t>(each - '0') * 2] = '1';
    from = c;
  }
  return bits;
}

/// What sets a setting (as topology/host names it) of a NIC: `value` is what most have.
std::string setting_remedy(std::string_view name, const std::string& interface, const std::string& value) {
  if (name == "PFC priorities")
    return fmt::format("@on: mlnx_qos -i {} --pfc {}", interface, priority_switches(value));
  if (name == "trust") return fmt::format("@on: mlnx_qos -i {} --trust {}", interface, value);
  if (name == "DSCP to priority")
    return fmt::format("@on: dcb app replace dev {} dscp-prio CODE:PRIORITY, until it is {}", interface,
                       value);
  if (name == "RoCE traffic class")
    return fmt::format("@on: echo {} > /sys/class/infiniband/DEVICE/tc/1/traffic_class", value);
  const bool notifies = name.ends_with("(NP)");
  if (notifies || name.ends_with("(RP)"))
    return fmt::format("@on: echo 1 > /sys/class/net/{}/ecn/{}/enable/PRIORITY, for {} alone", interface,
                       notifies ? "roce_np" : "roce_rp", value);
  const bool priority = name == "priority of CNPs";
  return fmt::format("@on: echo {} > /sys/class/net/{}/ecn/roce_np/{}", value, interface,
                     priority ? "cnp_802p_prio" : "cnp_dscp");
}

std::vector<std::string> gpu_addresses(const HostFacts& report) {
  std::vector<std::string> all;
  for (const GpuInventory& gpu : report.inventory.gpus) all.push_back(gpu.pci);
  return all;
}

std::vector<std::string> nic_addresses(const HostFacts& report) {
  std::vector<std::string> all;
  for (const NicInventory& nic : report.inventory.nics)
    if (nic.pci) all.push_back(*nic.pci);
  return all;
}

class Fleet {
 public:
  Fleet(const std::vector<const AskedHost*>& hosts, const DoctorExpectations& expectations,
        FoundTroubles& found)
      : hosts_(hosts), expectations_(expectations), found_(found) {}

  void run() {
    check_identities();
    check_clocks();
    check_logins();
    check_gpu_drivers();
    check_nics();
    check_devices(HostTrouble::gpu_missing, "GPU", gpu_addresses,
                  "@on: lspci -d 10de:; power it off and on, reseat the board; look at the kernel log");
    check_devices(HostTrouble::nic_missing, "NIC", nic_addresses,
                  "@on: lspci -d 15b3:; power it off and on, reseat the card");
  }

 private:
  struct Nic {
    const AskedHost* host;
    const NicInventory* nic;
  };
  using TextOf = std::function<std::optional<std::string>(const NicInventory&)>;

  void add(HostTrouble trouble, Verdict verdict, const AskedHost& host, std::string what,
           std::string evidence, std::string remedy) {
    found_.push_back({trouble, verdict, host.name, std::move(what), std::move(evidence), std::move(remedy)});
  }

  void check_identities() {
    std::map<std::string, std::vector<const AskedHost*>> by_identity;
    for (const AskedHost* host : hosts_) by_identity[host->report->identity].push_back(host);
    for (const auto& [identity, same] : by_identity) {
      if (same.size() < 2) continue;
      for (const AskedHost* host : same)
        add(HostTrouble::same_machine, Verdict::failed, *host, "these names are one and the same host",
            fmt::format("boot and network namespace {}", identity),
            "see to what each leads (getent hosts @host); leave the others out of --hosts");
    }
  }

  void check_clocks() {
    const auto follows = [](const AskedHost* host) { return host->report->clock_follows == true; };
    if (std::ranges::none_of(hosts_, follows)) return;
    for (const AskedHost* host : hosts_)
      if (host->report->clock_follows == false)
        add(HostTrouble::clock_loose, Verdict::degraded, *host, "nothing sets its clock",
            fmt::format("that of {} hosts is set", std::ranges::count_if(hosts_, follows)),
            "@on: systemctl enable --now chrony (where there is none: apt-get install chrony)");
  }

  void check_logins() {
    std::vector<Nanoseconds> times;
    for (const AskedHost* host : hosts_) times.push_back(host->answered - host->asked);
    if (times.empty()) return;
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    const Nanoseconds median = times[times.size() / 2];
    for (const AskedHost* host : hosts_) {
      const Nanoseconds took = host->answered - host->asked;
      if (took < kSlowLogin || took < kSlowFactor * median) continue;
      add(HostTrouble::slow_login, Verdict::degraded, *host, "is slow to let weft in",
          fmt::format("{:.1f} s, where half of the hosts take {:.1f} s at most",
                      std::chrono::duration<double>(took).count(),
                      std::chrono::duration<double>(median).count()),
          "see where the time goes: @login true, with ssh -vvv (name servers, a home directory over NFS)");
    }
  }

  void check_gpu_drivers() {
    Majority drivers;
    for (const AskedHost* host : hosts_)
      if (host->report->gpu_driver) drivers.count(*host->report->gpu_driver);
    for (const AskedHost* host : hosts_)
      if (const auto& driver = host->report->gpu_driver; driver && drivers.is_odd(*driver))
        add(HostTrouble::gpu_driver, Verdict::degraded, *host,
            unlike_most("the GPU driver", *driver, drivers, "hosts"), "",
            fmt::format("@on: install the driver {}",
                        pasteable(drivers.value().value_or("that all are to have"))));
  }

  void check_nics() {
    for (const AskedHost* host : hosts_)
      for (const NicInventory* nic : judged_nics(*host->report, expectations_)) nics_.push_back({host, nic});
    const auto nothing = [](const NicInventory&) { return std::string(); };
    if (!expectations_.mtu)
      compare(
          HostTrouble::mtu_differs, "the MTU", true,
          [](const NicInventory& nic) {
            return nic.mtu ? std::optional(std::to_string(nic.mtu->count())) : std::nullopt;
          },
          nothing,
          [](const std::string& interface, const std::string& usual) {
            return fmt::format("@on: ip link set dev {} mtu {}", interface, usual);
          });
    if (expectations_.nics.empty())
      compare(
          HostTrouble::rate_low, "the rate", true,
          [](const NicInventory& nic) {
            return nic.rate ? std::optional(to_string(*nic.rate)) : std::nullopt;
          },
          nothing,
          [](const std::string& interface, const std::string&) {
            return fmt::format("@on: ethtool -s {} autoneg on; stays it so, look at cable and switch port",
                               interface);
          });
    compare(
        HostTrouble::firmware_differs, "the firmware", false,
        [](const NicInventory& nic) { return nic.firmware; },
        [](const NicInventory& nic) { return nic.model.value_or(""); },
        [](const std::string&, const std::string& usual) {
          return fmt::format("@on: mlxfwmanager --online -u (to {}), then mlxfwreset", usual);
        });
    check_settings();
  }

  void check_settings() {
    std::set<std::string> names;
    for (const Nic& nic : nics_)
      for (const auto& [name, value] : nic.nic->settings) names.insert(name);
    for (const std::string& name : names)
      compare(
          HostTrouble::setting_differs, name, true,
          [&](const NicInventory& nic) {
            const auto found = nic.settings.find(name);
            return found == nic.settings.end() ? std::nullopt : std::optional(found->second);
          },
          [](const NicInventory&) { return std::string(); },
          [&](const std::string& interface, const std::string& usual) {
            return setting_remedy(name, interface, usual);
          });
  }

  /// NICs whose value is not that of most of their group. Without a fabric file those of one name are
  /// compared, where `by_name`: of a host's NICs some serve storage, with settings of their own.
  void compare(HostTrouble trouble, const std::string& what, bool by_name, const TextOf& value_of,
               const std::function<std::string(const NicInventory&)>& group_of,
               const std::function<std::string(const std::string&, const std::string&)>& remedy) {
    const auto key = [&](const NicInventory& nic) {
      return group_of(nic) + (by_name && expectations_.nics.empty() ? "/" + name_of(nic) : "");
    };
    std::map<std::string, Majority> groups;
    for (const Nic& nic : nics_)
      if (const auto value = value_of(*nic.nic)) groups[key(*nic.nic)].count(*value);
    for (const Nic& nic : nics_) {
      const auto value = value_of(*nic.nic);
      const Majority& group = groups[key(*nic.nic)];
      if (!value || !group.is_odd(*value)) continue;
      const auto usual = group.value();
      add(trouble, Verdict::degraded, *nic.host,
          unlike_most(fmt::format("{} of {}", what, name_of(*nic.nic)), *value, group, "NICs"), "",
          usual ? remedy(interface_of(*nic.nic), pasteable(*usual))
                : "decide which value is right, and set it on all hosts");
    }
  }

  void check_devices(HostTrouble trouble, const char* what,
                     const std::function<std::vector<std::string>(const HostFacts&)>& addresses_of,
                     const std::string& remedy) {
    if (expectations_.one_machine) return;
    Majority counts;
    std::map<std::string, std::size_t> seen;
    for (const AskedHost* host : hosts_) {
      const auto addresses = addresses_of(*host->report);
      counts.count(std::to_string(addresses.size()));
      for (const std::string& address : addresses) ++seen[address];
    }
    const auto usual = counts.value();
    if (!usual || !counts.differs()) return;
    for (const AskedHost* host : hosts_) {
      const auto addresses = addresses_of(*host->report);
      if (addresses.size() >= std::stoul(*usual)) continue;
      std::vector<std::string> missing;
      for (const auto& [address, times] : seen)
        if (times * 2 > counts.all() && std::ranges::count(addresses, address) == 0)
          missing.push_back(address);
      add(trouble, Verdict::failed, *host,
          fmt::format("{} {}s where {} of {} hosts have {}", addresses.size(), what, counts.count_of(*usual),
                      counts.all(), *usual),
          missing.empty() ? "" : fmt::format("missing: {}", fmt::join(missing, ", ")), remedy);
    }
  }

  const std::vector<const AskedHost*>& hosts_;
  const DoctorExpectations& expectations_;
  FoundTroubles& found_;
  std::vector<Nic> nics_;
};

}  // namespace

void check_fleet(const std::vector<const AskedHost*>& fleet, const DoctorExpectations& expectations,
                 FoundTroubles& found) {
  Fleet(fleet, expectations, found).run();
}

}  // namespace weft::diagnosis
