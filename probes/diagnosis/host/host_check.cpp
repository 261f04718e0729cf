#include "probes/diagnosis/host/host_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/diagnosis/host/device_faults.hpp"
#include "probes/diagnosis/host/majority.hpp"
#include "topology/base/readable.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/findings/verdict.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// A NIC of the run: the fabric's port, and what its host tells of it.
struct RunNic {
  NodeId host;
  PortId nic;
  const NicInventory* told;
};

const NicInventory* find_served(const HostInventory& inventory, const std::string& interface) {
  const auto found = std::ranges::find_if(inventory.nics, [&](const NicInventory& nic) {
    return nic.interface == interface || nic.rdma_device == interface || nic.served_as == interface;
  });
  return found == inventory.nics.end() ? nullptr : &*found;
}

class Check {
 public:
  Check(const Fabric& fabric, const std::vector<JoinedHost>& hosts, const HostExpectations& expectations)
      : fabric_(fabric), hosts_(hosts), expectations_(expectations) {
    for (const JoinedHost& host : hosts)
      for (const ServedNic& served : host.nics) add(host, served);
  }

  std::vector<HostEvidence> run() {
    for (const RunNic& nic : nics_)
      for (const DeviceFault& fault : device_faults(*nic.told))
        blame(nic, fault.verdict, fault.cause, fault.text);
    for (const JoinedHost& host : hosts_)
      for (const GpuInventory& gpu : host.inventory.gpus)
        for (const DeviceFault& fault : device_faults(gpu))
          blame({host.host, {}, nullptr}, fault.verdict, fault.cause, fault.text);
    check_gids();
    check_rates();
    check_mtu();
    check_firmware();
    check_settings();
    check_devices("GPU", [](const HostInventory& inventory) { return addresses(inventory.gpus); });
    check_devices("NIC", [](const HostInventory& inventory) { return nic_addresses(inventory); });
    std::ranges::stable_sort(found_, {}, [](const HostEvidence& e) { return std::pair(e.host, e.nic); });
    return std::move(found_);
  }

 private:
  void add(const JoinedHost& host, const ServedNic& served) {
    if (const auto* told = find_served(host.inventory, served.interface))
      nics_.push_back({host.host, served.nic, told});
    else
      found_.push_back({host.host, served.nic, Verdict::failed, Cause::down,
                        fmt::format("no NIC '{}' on this host", served.interface)});
  }

  void blame(const RunNic& nic, Verdict verdict, std::optional<Cause> cause, std::string text) {
    found_.push_back({nic.host, nic.told != nullptr ? std::optional(nic.nic) : std::nullopt, verdict, cause,
                      std::move(text)});
  }

  /// RoCE v2 needs a GID of its kind; on InfiniBand there is none.
  void check_gids() {
    if (fabric_.kind() != FabricKind::roce) return;
    for (const RunNic& nic : nics_)
      if (nic.told->gids && nic.told->gids->roce_v2 == 0)
        blame(nic, Verdict::failed, std::nullopt,
              fmt::format("no RoCE v2 entry in the GID table of {} ({} of RoCE v1): give {} an address",
                          nic.told->rdma_device.value_or("its device"), nic.told->gids->roce_v1,
                          name_of(*nic.told)));
  }

  void check_rates() {
    for (const RunNic& nic : nics_) {
      const auto link = fabric_.port(nic.nic).link;
      if (!link || !nic.told->rate || *nic.told->rate >= fabric_.link(*link).rate) continue;
      blame(nic, Verdict::degraded, Cause::rate,
            fmt::format("its port runs at {}, the fabric's cable is {}", readable(*nic.told->rate),
                        readable(fabric_.link(*link).rate)));
    }
  }

  void check_mtu() {
    const auto mtu_of = [](const NicInventory& nic) {
      return nic.mtu ? std::optional(std::to_string(nic.mtu->count())) : std::nullopt;
    };
    if (!expectations_.mtu)
      return compare("the MTU", Cause::mtu, mtu_of, [](const NicInventory&) { return std::string(); });
    for (const RunNic& nic : nics_)
      if (nic.told->mtu && *nic.told->mtu < *expectations_.mtu)
        blame(nic, Verdict::degraded, Cause::mtu,
              fmt::format("the MTU of {} is {}, the fabric's is {}", name_of(*nic.told),
                          nic.told->mtu->count(), expectations_.mtu->count()));
  }

  void check_firmware() {
    compare(
        "the firmware", std::nullopt, [](const NicInventory& nic) { return nic.firmware; },
        [](const NicInventory& nic) { return nic.model.value_or(""); });
  }

  void check_settings() {
    std::set<std::string> names;
    for (const RunNic& nic : nics_)
      for (const auto& [name, value] : nic.told->settings) names.insert(name);
    for (const std::string& name : names)
      compare(
          name.c_str(), std::nullopt,
          [&](const NicInventory& nic) {
            const auto found = nic.settings.find(name);
            return found == nic.settings.end() ? std::nullopt : std::optional(found->second);
          },
          [](const NicInventory&) { return std::string(); });
  }

  /// Names the NICs whose value is not that of most; only NICs of one `group` are compared, and only those
  /// that tell a value.
  template <class ValueOf, class GroupOf>
  void compare(const char* what, std::optional<Cause> cause, ValueOf value_of, GroupOf group_of) {
    std::map<std::string, Majority> groups;
    for (const RunNic& nic : nics_)
      if (const auto value = value_of(*nic.told)) groups[group_of(*nic.told)].count(*value);
    for (const RunNic& nic : nics_) {
      const auto value = value_of(*nic.told);
      const auto& group = groups[group_of(*nic.told)];
      if (value && group.is_odd(*value))
        blame(nic, Verdict::degraded, cause, unlike_most(what, *value, group, "NICs of the run"));
    }
  }

  static std::vector<std::string> addresses(const std::vector<GpuInventory>& gpus) {
    std::vector<std::string> all;
    for (const GpuInventory& gpu : gpus) all.push_back(gpu.pci);
    return all;
  }
  static std::vector<std::string> nic_addresses(const HostInventory& inventory) {
    std::vector<std::string> all;
    for (const NicInventory& nic : inventory.nics)
      if (nic.pci) all.push_back(*nic.pci);
    return all;
  }

  /// Hosts that have fewer devices than most hosts. Which one is missing is told by the addresses that most
  /// have.
  template <class AddressesOf>
  void check_devices(const char* what, AddressesOf addresses_of) {
    Majority counts;
    std::map<std::string, std::size_t> seen;
    for (const JoinedHost& host : hosts_) {
      if (host.inventory.shares_machine) continue;
      const auto addresses = addresses_of(host.inventory);
      counts.count(std::to_string(addresses.size()));
      for (const std::string& address : addresses) ++seen[address];
    }
    const auto usual = counts.value();
    if (!usual || !counts.differs()) return;
    for (const JoinedHost& host : hosts_) {
      const auto addresses = addresses_of(host.inventory);
      if (host.inventory.shares_machine || addresses.size() >= std::stoul(*usual)) continue;
      std::vector<std::string> missing;
      for (const auto& [address, times] : seen)
        if (times * 2 > counts.all() && std::ranges::count(addresses, address) == 0)
          missing.push_back(address);
      const auto where = missing.empty() ? "" : fmt::format("; missing: {}", fmt::join(missing, ", "));
      found_.push_back({host.host, std::nullopt, Verdict::failed, std::nullopt,
                        fmt::format("{} {}s where {} of {} hosts have {}{}", addresses.size(), what,
                                    counts.count_of(*usual), counts.all(), *usual, where)});
    }
  }

  const Fabric& fabric_;
  const std::vector<JoinedHost>& hosts_;
  const HostExpectations& expectations_;
  std::vector<RunNic> nics_;
  std::vector<HostEvidence> found_;
};

}  // namespace

std::vector<HostEvidence> check_hosts(const Fabric& fabric, const std::vector<JoinedHost>& hosts,
                                      const HostExpectations& expectations) {
  return Check(fabric, hosts, expectations).run();
}

std::vector<std::string> check_alone(const HostInventory& inventory) {
  std::vector<std::string> texts;
  const auto add = [&](std::vector<DeviceFault> faults) {
    for (DeviceFault& fault : faults) texts.push_back(std::move(fault.text));
  };
  for (const GpuInventory& gpu : inventory.gpus) add(device_faults(gpu));
  for (const NicInventory& nic : inventory.nics) {
    if (!nic.rdma_device && !nic.serves) continue;  // an unused port has no cable, and that is no fault
    add(device_faults(nic));
    if (nic.link_layer == "Ethernet" && nic.gids && nic.gids->roce_v2 == 0)
      texts.push_back(
          fmt::format("no RoCE v2 entry in the GID table of {}: give it an address", name_of(nic)));
  }
  return texts;
}

}  // namespace weft::diagnosis
