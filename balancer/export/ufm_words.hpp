// UFM's words: names of ports, what the REST interface of NVIDIA UFM Enterprise tells of them, the bodies
// that isolate a port and take that back, and the curl lines that do the same by hand. Pure. After the
// published REST API guide (versions 6.14 to 6.22: "Unhealthy Ports", "Ports"); no server was met
// (docs/hardware.md).
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft::exports {

/// Of a switch its node GUID and a port of it, of a host the port's own GUID: `0002c9030060dc20_10`.
struct UfmPortId {
  Guid guid;
  PortNumber number;
  friend auto operator<=>(const UfmPortId&, const UfmPortId&) = default;
};
std::string to_string(const UfmPortId& port);
/// Absent: it is no name of a port.
std::optional<UfmPortId> parse_ufm_port_id(std::string_view name);

/// How a mark names its port: by what a fabric file cannot change.
std::string isolated_at(const UfmPortId& port);
/// Absent: it is no such mark.
std::optional<UfmPortId> port_of_mark(std::string_view mark);

/// Names no port that there is: a question whether we may change ports, which changes none.
inline constexpr UfmPortId kNoPort{};

struct UfmPort {
  UfmPortId id;
  std::string system;  // what UFM calls the switch or host
  bool is_active = false;
  std::optional<UfmPortId> peer{};  // at the other end of its cable; absent: UFM sees none
  friend bool operator==(const UfmPort&, const UfmPort&) = default;
};
using UfmPorts = std::map<UfmPortId, UfmPort>;
/// `GET resources/ports`; those whose names are of another form are left out. Error: invalid_input, no whole
/// answer, or a port twice.
Result<UfmPorts> parse_ufm_ports(std::string_view text);

/// A port that UFM keeps out of the routes, or only reports, by what it is listed for.
struct UnhealthyPort {
  UfmPortId id;
  std::vector<std::string> conditions{};  // MANUAL, or what the subnet manager saw: FLAPPING, ...
  std::optional<UfmPortId> peer{};
  bool is_manual() const;
  friend bool operator==(const UnhealthyPort&, const UnhealthyPort&) = default;
};
using UnhealthyPorts = std::map<UfmPortId, UnhealthyPort>;
/// `GET app/unhealthy_ports`, each port once with all of its conditions. Error: invalid_input.
Result<UnhealthyPorts> parse_unhealthy_ports(std::string_view text);

/// The body of `PUT app/unhealthy_ports`.
std::string isolate_body(const UfmPortId& port);
std::string healthy_body(const UfmPortId& port);

/// What a refusal says, as far as it is text for people; empty: a page of HTML, or nothing.
std::string ufm_message(std::string_view body);

/// Whom an operator's curl asks, and as whom.
struct CurlPlace {
  std::string url;     // of the server, with the root of the API
  std::string user{};  // curl asks for the password; empty: by a token
  std::string ca{};    // file of certificates; empty: those of the system
};
/// What an operator types.
std::string curl_line(const CurlPlace& place, const std::string& body);

}  // namespace weft::exports
