// The cables of several records, held against each other: each cable once, whoever tells of it. Where two
// live records contradict each other neither is believed; what is on the wire goes before what is planned.
#pragma once

#include <map>
#include <set>
#include <span>

#include "topology/files/cable_list.hpp"

namespace weft::discover {

struct FarEnd {
  files::CableEnd end;
  std::string source;
  bool is_live = true;
  std::optional<Bandwidth> rate = std::nullopt;
};

struct ListedCables {
  std::map<files::CableEnd, FarEnd> far;  // each cable from both of its ends, as far as these have port names
  std::map<std::string, IpAddress> address_of_device;
  std::map<files::CableEnd, IpAddress> address_of_port;
  std::map<IpAddress, std::string> known_by;  // devices by addresses that they are managed by
  std::set<std::string> devices;              // whose own tables are known
  std::set<std::string> switches;
  std::set<std::string> hosts;
  std::vector<std::string> disagreements;
  std::vector<std::string> remarks;

  bool empty() const { return far.empty() && address_of_port.empty() && address_of_device.empty(); }
};

/// `hosts`: names that are known; a record's `host1.example.org` is then `host1`.
ListedCables listed_cables(std::span<const files::CableList> lists, std::span<const std::string> hosts);

}  // namespace weft::discover
