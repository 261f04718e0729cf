// Readers of what sites have that tells of cables; each gives a CableList, an Error names the file and what
// is wrong with it. What is read in part says so in `remarks`. Every text is as it may be shown
// (outside_text).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/files/cable_list.hpp"

namespace weft::files {

/// Where a record comes from: `file` for messages, and the device whose table it is where the record does not
/// say so itself (as a rule the file's name without its ending).
struct RecordSource {
  std::string file;
  std::string device;
};

/// `lldpcli show neighbors -f json` or json0, of a host or a switch.
Result<CableList> parse_lldpcli_json(std::string_view text, const RecordSource& source);
/// `nv show interface --lldp -o json` or `nv show interface lldp -o json` of Cumulus Linux.
Result<CableList> parse_nvue_lldp(std::string_view text, const RecordSource& source);
/// `show lldp table` of SONiC.
Result<CableList> parse_sonic_lldp_table(std::string_view text, const RecordSource& source);
/// `lldpcli show neighbors`, or SONiC's `show lldp neighbors`, as text.
Result<CableList> parse_lldp_text(std::string_view text, const RecordSource& source);
/// A minigraph.xml of SONiC: links, kinds of neighbours, addresses.
Result<CableList> parse_sonic_minigraph(std::string_view text, const RecordSource& source);
/// A config_db.json of SONiC: host name, neighbours, addresses of ports, speeds.
Result<CableList> parse_sonic_config(std::string_view text, const RecordSource& source);
/// Cables of NetBox: an export as CSV, or what /api/dcim/cables/ answers.
Result<CableList> parse_netbox_csv(std::string_view text, const RecordSource& source);
Result<CableList> parse_netbox_json(std::string_view text, const RecordSource& source);

/// Whichever of these it is, by what it holds. An Error (invalid_input) names the forms that are known.
Result<CableList> parse_cable_record(std::string_view text, const RecordSource& source);

}  // namespace weft::files
