// What the kernel answers to questions about one interface: by ethtool's generic netlink family, by
// rtnetlink, and in the files of sysfs. Bytes in, values out; of a message, nothing beyond its own length is
// read. A refusal is an Error: not_supported (the driver does not tell), permission, not_found. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::host {

struct FecAnswer {
  std::optional<std::string> mode = std::nullopt;  // "RS", "BaseR", "LLRS", "off"
  /// "corrected_blocks", "uncorrectable_blocks", "corrected_bits", each with ".lane0" on; "fec_bin.LOW-HIGH".
  NamedCounts counts;
};

/// CTRL_CMD_GETFAMILY: the number by which messages of a generic family go.
Result<std::uint16_t> decode_family(ByteSpan message);
Result<FecAnswer> decode_fec(ByteSpan message);
/// ETHTOOL_MSG_STATS_GET: names of the IEEE groups as ethtool prints them, "eth-mac-FramesReceivedOK".
Result<NamedCounts> decode_statistics(ByteSpan message);
Result<NamedCounts> decode_pause(ByteSpan message);
Result<std::vector<std::byte>> decode_eeprom(ByteSpan message);
/// RTM_GETLINK: rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, carrier_changes.
Result<NamedCounts> decode_link(ByteSpan message);

/// ethtool -S: names of 32 bytes (ETH_GSTRING_LEN), one for each value; a name that comes twice is left out.
NamedCounts named_statistics(ByteSpan names, const std::vector<std::uint64_t>& values);
/// A file aer_dev_correctable, _nonfatal or _fatal: "RxErr 0"; sums (TOTAL_...) and what is zero are left
/// out.
void take_aer(std::string_view text, std::string_view kind, NamedCounts& into);

}  // namespace weft::host
