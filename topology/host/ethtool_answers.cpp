#include "topology/host/ethtool_answers.hpp"

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/host/netlink_attributes.hpp"

namespace weft::host {
namespace {

// Linux 6.18 has the histogram (include/uapi/linux/ethtool_netlink_generated.h); older headers do not.
constexpr int kFecHistogram = ETHTOOL_A_FEC_STAT_CORR_BITS + 1;
enum FecHistogram { kBinPad = 1, kBinLow, kBinHigh, kBinValue, kBinByLane };
constexpr std::size_t kMaxLanes = 8;            // ETHTOOL_MAX_LANES of the kernel
constexpr std::size_t kMaxStatistics = 65'536;  // no driver has a tenth of it

Error refusal_of(int number, std::string_view said) {
  const std::string words = said.empty() ? std::string(std::strerror(number)) : outside_text(said);
  switch (number) {
    case EOPNOTSUPP:
      return {ErrorKind::not_supported, "the driver does not tell"};
    case EPERM:
    case EACCES:
      return {ErrorKind::permission, "needs CAP_NET_ADMIN"};
    case ENODEV:
    case ENOENT:
      return {ErrorKind::not_found, words};
    default:
      return {ErrorKind::absent, words};
  }
}

/// What stands after the fixed part of the first message. An answer that is an error gives that.
Result<ByteSpan> attributes_of(ByteSpan bytes, std::size_t fixed) {
  const auto header = value_at<nlmsghdr>(bytes, 0);
  if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > bytes.size())
    return fail(ErrorKind::invalid_input, "the kernel's answer is cut off");
  const auto message = bytes.first(header->nlmsg_len);
  if (header->nlmsg_type == NLMSG_ERROR) {
    const auto number = value_at<std::int32_t>(message, NLMSG_HDRLEN);
    // A refusal that is none acknowledges; to a question that is no answer.
    if (!number || *number >= 0 || *number < -4095)
      return fail(ErrorKind::invalid_input, "the kernel's answer is none");
    std::string said;
    const std::size_t behind = NLMSG_HDRLEN + sizeof(nlmsgerr);
    if ((header->nlmsg_flags & NLM_F_ACK_TLVS) != 0 && (header->nlmsg_flags & NLM_F_CAPPED) != 0 &&
        message.size() > behind)
      for_each_attribute(message.subspan(behind), [&](int type, ByteSpan payload) {
        if (type == NLMSGERR_ATTR_MSG && !payload.empty())
          said.assign(reinterpret_cast<const char*>(payload.data()),
                      strnlen(reinterpret_cast<const char*>(payload.data()), payload.size()));
      });
    return tl::unexpected(refusal_of(-*number, said));
  }
  const std::size_t behind = NLMSG_HDRLEN + fixed;
  if (header->nlmsg_type < NLMSG_MIN_TYPE || message.size() < behind)
    return fail(ErrorKind::invalid_input, "the kernel's answer is of another kind");
  return message.subspan(behind);
}

Result<ByteSpan> generic_attributes(ByteSpan bytes, int command) {
  WEFT_TRY(const auto attributes, attributes_of(bytes, GENL_HDRLEN));
  const auto header = value_at<genlmsghdr>(bytes, NLMSG_HDRLEN);
  if (!header || header->cmd != command)
    return fail(ErrorKind::invalid_input, "the kernel's answer is to another question");
  return attributes;
}

/// A number of 4 or 8 bytes, as the kernel's "uint" attributes have.
std::optional<std::uint64_t> number_of(ByteSpan payload) {
  if (payload.size() == 4) return value_at<std::uint32_t>(payload, 0);
  if (payload.size() == 8) return value_at<std::uint64_t>(payload, 0);
  return std::nullopt;
}

/// An array of 64 bits: of the port, then of each lane.
void take_array(std::string_view name, ByteSpan payload, NamedCounts& into) {
  const std::size_t count = std::min(payload.size() / 8, 1 + kMaxLanes);
  for (std::size_t i = 0; i < count; ++i)
    into[i == 0 ? std::string(name) : fmt::format("{}.lane{}", name, i - 1)] =
        *value_at<std::uint64_t>(payload, 8 * i);
}

void take_bin(ByteSpan nest, NamedCounts& into) {
  std::optional<std::uint64_t> low, high, value;
  for_each_attribute(nest, [&](int type, ByteSpan payload) {
    if (type == kBinLow) low = number_of(payload);
    if (type == kBinHigh) high = number_of(payload);
    if (type == kBinValue) value = number_of(payload);
  });
  if (low && high && value && *low <= *high && *high < 64)
    into[fmt::format("fec_bin.{}-{}", *low, *high)] = *value;
}

std::optional<std::string> fec_mode(std::uint64_t link_mode) {
  switch (link_mode) {
    case ETHTOOL_LINK_MODE_FEC_NONE_BIT:
      return "off";
    case ETHTOOL_LINK_MODE_FEC_RS_BIT:
      return "RS";
    case ETHTOOL_LINK_MODE_FEC_BASER_BIT:
      return "BaseR";
    case ETHTOOL_LINK_MODE_FEC_LLRS_BIT:
      return "LLRS";
    default:
      return std::nullopt;
  }
}

struct StatisticName {
  std::uint32_t group;
  int number;
  const char* name;
};
constexpr std::array kStatistics{
    StatisticName{ETHTOOL_STATS_ETH_PHY, ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR,
                  "eth-phy-SymbolErrorDuringCarrier"},
    StatisticName{ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT, "eth-mac-FramesTransmittedOK"},
    StatisticName{ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_5_RX_PKT, "eth-mac-FramesReceivedOK"},
    StatisticName{ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR,
                  "eth-mac-FrameCheckSequenceErrors"},
    StatisticName{ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_8_TX_BYTES, "eth-mac-OctetsTransmittedOK"},
    StatisticName{ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_14_RX_BYTES, "eth-mac-OctetsReceivedOK"},
    StatisticName{ETHTOOL_STATS_ETH_CTRL, ETHTOOL_A_STATS_ETH_CTRL_3_TX,
                  "eth-ctrl-MACControlFramesTransmitted"},
    StatisticName{ETHTOOL_STATS_ETH_CTRL, ETHTOOL_A_STATS_ETH_CTRL_4_RX,
                  "eth-ctrl-MACControlFramesReceived"}};

void take_group(ByteSpan nest, NamedCounts& into) {
  std::optional<std::uint32_t> group;
  for_each_attribute(nest, [&](int type, ByteSpan payload) {
    if (type == ETHTOOL_A_STATS_GRP_ID) group = value_at<std::uint32_t>(payload, 0);
  });
  if (!group) return;
  for_each_attribute(nest, [&](int type, ByteSpan statistic) {
    if (type != ETHTOOL_A_STATS_GRP_STAT) return;
    for_each_attribute(statistic, [&](int number, ByteSpan payload) {
      const auto known = std::ranges::find_if(
          kStatistics, [&](const StatisticName& one) { return one.group == *group && one.number == number; });
      const auto value = number_of(payload);
      if (known != kStatistics.end() && value) into[known->name] = *value;
    });
  });
}

}  // namespace

Result<std::uint16_t> decode_family(ByteSpan message) {
  WEFT_TRY(const auto attributes, generic_attributes(message, CTRL_CMD_NEWFAMILY));
  std::optional<std::uint16_t> family;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == CTRL_ATTR_FAMILY_ID) family = value_at<std::uint16_t>(payload, 0);
  });
  if (!family) return fail(ErrorKind::invalid_input, "the kernel names no number of the family");
  return *family;
}

Result<FecAnswer> decode_fec(ByteSpan message) {
  WEFT_TRY(const auto attributes, generic_attributes(message, ETHTOOL_MSG_FEC_GET_REPLY));
  FecAnswer answer;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == ETHTOOL_A_FEC_ACTIVE)
      if (const auto mode = number_of(payload)) answer.mode = fec_mode(*mode);
    if (type != ETHTOOL_A_FEC_STATS) return;
    for_each_attribute(payload, [&](int statistic, ByteSpan values) {
      if (statistic == ETHTOOL_A_FEC_STAT_CORRECTED) take_array("corrected_blocks", values, answer.counts);
      if (statistic == ETHTOOL_A_FEC_STAT_UNCORR) take_array("uncorrectable_blocks", values, answer.counts);
      if (statistic == ETHTOOL_A_FEC_STAT_CORR_BITS) take_array("corrected_bits", values, answer.counts);
      if (statistic == kFecHistogram) take_bin(values, answer.counts);
    });
  });
  return answer;
}

Result<NamedCounts> decode_statistics(ByteSpan message) {
  WEFT_TRY(const auto attributes, generic_attributes(message, ETHTOOL_MSG_STATS_GET_REPLY));
  NamedCounts counts;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == ETHTOOL_A_STATS_GRP) take_group(payload, counts);
  });
  return counts;
}

Result<NamedCounts> decode_pause(ByteSpan message) {
  WEFT_TRY(const auto attributes, generic_attributes(message, ETHTOOL_MSG_PAUSE_GET_REPLY));
  NamedCounts counts;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type != ETHTOOL_A_PAUSE_STATS) return;
    for_each_attribute(payload, [&](int statistic, ByteSpan value) {
      const auto count = number_of(value);
      if (!count) return;
      if (statistic == ETHTOOL_A_PAUSE_STAT_TX_FRAMES) counts["tx_pause_frames"] = *count;
      if (statistic == ETHTOOL_A_PAUSE_STAT_RX_FRAMES) counts["rx_pause_frames"] = *count;
    });
  });
  return counts;
}

Result<std::vector<std::byte>> decode_eeprom(ByteSpan message) {
  WEFT_TRY(const auto attributes, generic_attributes(message, ETHTOOL_MSG_MODULE_EEPROM_GET_REPLY));
  std::vector<std::byte> bytes;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == ETHTOOL_A_MODULE_EEPROM_DATA) bytes.assign(payload.begin(), payload.end());
  });
  return bytes;
}

Result<NamedCounts> decode_link(ByteSpan message) {
  WEFT_TRY(const auto attributes, attributes_of(message, NLMSG_ALIGN(sizeof(ifinfomsg))));
  const auto header = value_at<nlmsghdr>(message, 0);
  if (header->nlmsg_type != RTM_NEWLINK)
    return fail(ErrorKind::invalid_input, "the kernel's answer is to another question");
  NamedCounts counts;
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == IFLA_CARRIER_CHANGES)
      if (const auto changes = value_at<std::uint32_t>(payload, 0)) counts["carrier_changes"] = *changes;
    if (type != IFLA_STATS64) return;
    const auto take = [&](const char* name, std::size_t offset) {
      if (const auto value = value_at<std::uint64_t>(payload, offset)) counts[name] = *value;
    };
    take("rx_packets", offsetof(rtnl_link_stats64, rx_packets));
    take("tx_packets", offsetof(rtnl_link_stats64, tx_packets));
    take("rx_bytes", offsetof(rtnl_link_stats64, rx_bytes));
    take("tx_bytes", offsetof(rtnl_link_stats64, tx_bytes));
    take("rx_dropped", offsetof(rtnl_link_stats64, rx_dropped));
    take("tx_dropped", offsetof(rtnl_link_stats64, tx_dropped));
  });
  return counts;
}

NamedCounts named_statistics(ByteSpan names, const std::vector<std::uint64_t>& values) {
  NamedCounts counts;
  std::set<std::string> doubled;
  const std::size_t count = std::min({names.size() / ETH_GSTRING_LEN, values.size(), kMaxStatistics});
  for (std::size_t i = 0; i < count; ++i) {
    const auto* name = reinterpret_cast<const char*>(names.data()) + i * ETH_GSTRING_LEN;
    const auto said = outside_text({name, strnlen(name, ETH_GSTRING_LEN)});
    if (said.empty()) continue;
    if (!counts.emplace(said, values[i]).second) doubled.insert(said);
  }
  for (const std::string& name : doubled) counts.erase(name);
  return counts;
}

void take_aer(std::string_view text, std::string_view kind, NamedCounts& into) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto blank = line.rfind(' ');
    if (blank == std::string_view::npos || line.starts_with("TOTAL_")) continue;
    const auto value = parse_whole_number<std::uint64_t>(line.substr(blank + 1));
    if (value && *value > 0 && into.size() < 200)
      into[fmt::format("{} {}", kind, outside_text(line.substr(0, std::min<std::size_t>(blank, 60))))] =
          *value;
  }
}

}  // namespace weft::host
