// Capacity: what is out of use of a fabric, whoever took it out - this blacklist, others, or a fault - and
// the caps on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "balancer/blacklist/subject.hpp"

namespace weft::blacklist {

/// Shares of what was built that may be out of use, of links and NICs by their number and by their rates: the
/// one fast uplink of a leaf is more than one of many. Of each group at least one may be, but for a leaf's
/// uplinks: a leaf of two would have one left for all of its hosts.
struct Caps {
  double leaf_uplinks = 0.25;
  double pod_links = 0.10;     // of the links between switches with an end in the pod
  double fabric_links = 0.05;  // of all links between switches
  double rail_nics = 0.05;     // without those of drained hosts
  double hosts = 0.005;        // drained: this share or `few_hosts`, whichever is more,
  std::uint32_t few_hosts = 10;
  double most_hosts = 0.25;  // but never more than this share
};

/// How many of `all` a cap allows to be out of use: this share, rounded down, or `least`.
std::size_t allowed_of(double share, std::size_t least, std::size_t all);
/// How many hosts may be drained; as many may be newly drained in an hour.
std::size_t hosts_allowed(const Caps& caps, std::size_t hosts);

class Capacity {
 public:
  /// The fabric must outlive it.
  Capacity(const Fabric& fabric, const Caps& caps);

  /// Out of use from now on; what is already, stays.
  void take_out(const Effect& effect);
  /// How many of its hosts are in use so far.
  std::size_t hosts_in_use(const Effect& effect) const;
  /// The cap that `effect` breaks, or that is broken where it would take more, in words; absent: none.
  std::optional<std::string> broken_by(const Effect& effect) const;

 private:
  /// How many things, and what they carry.
  struct Amount {
    std::size_t count = 0;
    Bandwidth rate{};  // of hosts none
    void add(Bandwidth its) { ++count, rate = rate + its; }
  };
  enum class Kind : std::uint8_t { links, pod, uplinks, rail, hosts };
  struct Group {  // a leaf's uplinks, a rail's NICs, ...
    std::string name;
    double share = 0;       // of `all` that may be out,
    std::size_t least = 0;  // or so many
    Amount all{}, out{};
    std::size_t allowed() const;
    std::optional<std::string> broken_by(const Amount& more) const;
  };
  /// That a thing is in: a link in the fabric's and in its ends' leaves and pods.
  struct InGroups {
    std::array<std::uint32_t, 5> which{};
    std::uint8_t count = 0;
    std::span<const std::uint32_t> all() const { return {which.data(), count}; }
  };
  /// Links, NICs or hosts, by the number of their id.
  struct Things {
    std::vector<InGroups> groups;
    std::vector<bool> out;
    std::vector<Bandwidth> rates;
    explicit Things(std::size_t count) : groups(count), out(count, false), rates(count) {}
  };
  /// `number`: which of its kind; make() makes it where there is none yet.
  template <class Make>
  void join(Things& things, std::uint32_t thing, Kind kind, std::uint32_t number, Make make);

  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;  // and kind
  Things links_, nics_, hosts_;
};

}  // namespace weft::blacklist
