// Which device of a site's records each traced switch is: by its NICs' cables and by addresses; else by what
// it is cabled to, where no other could be it. Where that is not determined the two are never both claimed.
// Internal to discover/.
#pragma once

#include "probes/discover/found_fabric.hpp"

namespace weft::discover {

/// "a, b, c and 5 more".
template <class Items, class Word>
std::string listed(const Items& items, Word word) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t count = 0;
  for (const auto& item : items)
    if (count++ < kNamed) text += (text.empty() ? "" : ", ") + std::string(word(item));
  return count > kNamed ? text + " and " + std::to_string(count - kNamed) + " more" : text;
}

/// The NICs that traces call by their indices.
class TracedNics {
 public:
  explicit TracedNics(const std::vector<HostNics>& hosts) : hosts_(hosts) {
    for (std::size_t h = 0; h < hosts.size(); ++h)
      for (std::size_t n = 0; n < hosts[h].nics.size(); ++n) at_.emplace_back(h, n);
  }
  const HostNics& host(std::uint32_t nic) const { return hosts_[at_[nic].first]; }
  const HostNic& at(std::uint32_t nic) const { return host(nic).nics[at_[nic].second]; }
  std::string name(std::uint32_t nic) const {
    return host(nic).host + (host(nic).nics.size() == 1 ? "" : " " + at(nic).interface);
  }
  files::CableEnd end(std::uint32_t nic) const { return {host(nic).host, at(nic).interface}; }

 private:
  const std::vector<HostNics>& hosts_;
  std::vector<std::pair<std::size_t, std::size_t>> at_;  // host and NIC of it
};

struct SwitchNames {
  std::vector<std::string> names;        // of the traced switches; one that no record knows has a new one
  std::vector<bool> named;               // by a record
  std::vector<bool> untold;              // it may be one of `untold_devices`
  std::set<std::string> untold_devices;  // of records, each of which may be a switch that is `untold`
  bool records_stand = true;             // for what is untold: the records' cables, else those of the traces
  std::vector<std::string> disagreements = {};
};

/// `sources.traced` is there.
SwitchNames name_switches(const FoundSources& sources);

}  // namespace weft::discover
