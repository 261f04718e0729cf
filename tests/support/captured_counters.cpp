#include "tests/support/captured_counters.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/nic_text.hpp"
#include "collectors/counters/switch_text.hpp"
#include "tests/fakes/fake_module.hpp"
#include "tests/fakes/netlink_bytes.hpp"
#include "tests/places.hpp"
#include "tests/support/hex.hpp"
#include "topology/base/check.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/host/ethtool_answers.hpp"
#include "topology/host/mlxlink_answer.hpp"

namespace weft {
namespace {

using counters::CounterTable;
using nlohmann::json;

constexpr Nanoseconds kAt = std::chrono::hours(500'000);
constexpr std::uint16_t kFamily = 0x20;

/// Name and value, as the verdict shows them: of a count the number, of a measured value four decimals.
using Fields = std::map<std::string, std::string>;

std::string read_capture(const std::string& file) {
  const auto text =
      files::read_text_file(WEFT_SOURCE_DIR "/tests/data/captured_counters/" + file, Bytes(1'000'000));
  WEFT_CHECK(text.has_value());
  return *text;
}

std::string shown(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return fmt::format("{:.4f}", value.get<double>());
}

/// Light is written in dBm where the device said dBm; weft has milliwatts.
void take_module(const json& module, Fields& into) {
  for (const auto& [key, value] : module.items()) {
    const bool is_dbm = key.ends_with("_dbm");
    const auto name = "module." + (is_dbm ? key.substr(0, 2) + "_mw" : key);
    if (!value.is_array()) {
      into[name] = shown(value);
      continue;
    }
    for (std::size_t lane = 0; lane < value.size(); ++lane)
      if (!value[lane].is_null())
        into[fmt::format("{}.{}", name, lane + 1)] =
            is_dbm ? fmt::format("{:.4f}", std::pow(10, value[lane].get<double>() / 10)) : shown(value[lane]);
  }
}

Fields stated(const json& expected) {
  Fields fields;
  const json counts = expected.value("counters", json::object());
  for (const auto& [name, value] : counts.items()) fields[name] = std::to_string(value.get<std::uint64_t>());
  if (expected.contains("fec")) fields["fec"] = expected["fec"].get<std::string>();
  take_module(expected.value("module", json::object()), fields);
  return fields;
}

void take_counters(const CounterTable& table, Fields& into) {
  for (const auto& series : table.series())
    into[to_string(series.key)] = std::to_string(series.points.at(0).value);
  if (!table.refused.first.empty()) into["refused"] = table.refused.first.front();
  if (!table.unplaced.first.empty()) into["unplaced"] = table.unplaced.first.front();
}

Fabric fabric_of(const std::string& port) {
  const auto text = fmt::format(
      "fabric: captured\nnodes: [{{name: leaf1, kind: switch, tier: leaf}}, {{name: spine1, kind: switch, "
      "tier: "
      "spine}}, {{name: host1, kind: host}}]\n"
      "links: [{{a: leaf1/{}, b: spine1/Ethernet0, rate: 400G}}, {{a: host1, b: leaf1, rate: 400G}}]\n",
      port);
  auto file = files::parse_fabric_file(text, "captured");
  WEFT_CHECK(file.has_value());
  return std::move(file->fabric);
}

/// As `weft counters nic -o json` writes it, and as every command with --counters reads that back.
Fields read_nic(const NicReading& reading) {
  const auto lines = counters::nic_lines("", "", {{kAt, "host1/p1", reading}});
  Fields fields;
  const json said = json::parse(lines.substr(lines.find('\n') + 1));
  if (said.contains("fec")) fields["fec"] = said["fec"].get<std::string>();
  take_module(said.value("module", json::object()), fields);
  if (said["counters"].empty()) return fields;
  CounterTable table;
  const auto read = read_counter_file(fabric_of("Ethernet0"), lines, "nic", "", kAt, table);
  WEFT_CHECK(read.has_value());
  take_counters(table, fields);
  return fields;
}

Fields read_switch(const std::string& text, const std::string& port) {
  CounterTable table;
  const auto read = read_switch_text(fabric_of(port), text, "switch", "leaf1", kAt, table);
  if (!read) return {{"refused", read.error().message}};
  Fields fields;
  take_counters(table, fields);
  return fields;
}

/// "name: value" a line, of which the last colon parts them: bnxt_en has "[0]: rx_errors".
NamedCounts named_lines(const std::string& text) {
  NamedCounts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.rfind(": ");
    const auto first = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.find_first_not_of("0123456789", colon + 2) != std::string::npos)
      continue;
    counts[line.substr(first, colon - first)] = std::stoull(line.substr(colon + 2));
  }
  return counts;
}

/// ethtool -S, back in the form in which the kernel gives it.
NamedCounts as_strings(const NamedCounts& counts) {
  std::vector<std::byte> names(counts.size() * ETH_GSTRING_LEN);
  std::vector<std::uint64_t> values;
  for (const auto& [name, value] : counts) {
    WEFT_CHECK(name.size() < ETH_GSTRING_LEN);
    std::memcpy(&names[values.size() * ETH_GSTRING_LEN], name.data(), name.size());
    values.push_back(value);
  }
  return host::named_statistics(names, values);
}

/// ethtool -S --groups, likewise. Statistics that have no number here are sent as one that weft does not
/// know.
NamedCounts as_groups(const NamedCounts& counts) {
  struct Statistic {
    std::uint32_t group;
    int number;
  };
  static const std::map<std::string, Statistic> kNumbers{
      {"eth-phy-SymbolErrorDuringCarrier", {ETHTOOL_STATS_ETH_PHY, ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR}},
      {"eth-mac-FramesTransmittedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT}},
      {"eth-mac-FramesReceivedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_5_RX_PKT}},
      {"eth-mac-FrameCheckSequenceErrors", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR}},
      {"eth-mac-AlignmentErrors", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_7_ALIGN_ERR}},
      {"eth-mac-OctetsTransmittedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_8_TX_BYTES}},
      {"eth-mac-OctetsReceivedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_14_RX_BYTES}},
      {"eth-mac-MulticastFramesXmittedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_18_TX_MCAST}},
      {"eth-mac-BroadcastFramesXmittedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_19_TX_BCAST}},
      {"eth-mac-MulticastFramesReceivedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_21_RX_MCAST}},
      {"eth-mac-BroadcastFramesReceivedOK", {ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_22_RX_BCAST}}};
  auto answer = fakes::generic_netlink(ETHTOOL_MSG_STATS_GET_REPLY);
  for (const auto& [name, value] : counts) {
    const auto known = kNumbers.find(name);
    const auto [group, number] =
        known == kNumbers.end() ? Statistic{ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_JABBER} : known->second;
    fakes::NetlinkBytes one, whole;
    one.attribute(number, value);
    whole.attribute(ETHTOOL_A_STATS_GRP_ID, group).nest(ETHTOOL_A_STATS_GRP_STAT, one);
    answer.nest(ETHTOOL_A_STATS_GRP, whole);
  }
  const auto read = host::decode_statistics(answer.message(kFamily));
  WEFT_CHECK(read.has_value());
  return *read;
}

/// ethtool -I --show-fec, likewise.
host::FecAnswer as_fec(const std::string& text) {
  const auto counts = named_lines(text);
  fakes::NetlinkBytes statistics;
  auto answer = fakes::generic_netlink(ETHTOOL_MSG_FEC_GET_REPLY);
  WEFT_CHECK(text.find("Active FEC encoding: RS\n") != std::string::npos);
  statistics.attribute(ETHTOOL_A_FEC_STAT_CORRECTED, counts.at("corrected_blocks"))
      .attribute(ETHTOOL_A_FEC_STAT_UNCORR, counts.at("uncorrectable_blocks"));
  answer.attribute(ETHTOOL_A_FEC_ACTIVE, std::uint32_t{ETHTOOL_LINK_MODE_FEC_RS_BIT})
      .nest(ETHTOOL_A_FEC_STATS, statistics);
  const auto read = host::decode_fec(answer.message(kFamily));
  WEFT_CHECK(read.has_value());
  return *read;
}

/// Lines "00 0080: 18 41 ...": page, address, bytes; of an SFP "a0" and "a2" in place of the page; where none
/// is written, 00.
ModuleState as_module(const std::string& text) {
  std::map<std::string, std::map<std::size_t, std::vector<std::byte>>> memory;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':'), blank = line.find(' ');
    const auto page = blank < colon ? line.substr(0, blank) : "00";
    const auto address = std::stoul(line.substr(blank < colon ? blank : 0), nullptr, 16);
    const auto bytes = fakes::from_hex(line.substr(colon));
    auto& half = memory[page][address / host::kHalfPage];
    half.insert(half.end(), bytes.begin(), bytes.end());
  }
  const auto& lower = memory[memory.contains("a0") ? "a0" : "00"].at(0);
  WEFT_CHECK(lower.size() == host::kHalfPage);
  fakes::FakeModule module(load_u8(lower, 0));
  module.lower = lower;
  for (const auto& [page, halves] : memory)
    if (halves.contains(1))
      module.page(static_cast<std::uint8_t>(std::stoi(page, nullptr, 16))) = halves.at(1);
  if (memory.contains("a2")) module.diagnostics = memory["a2"].at(0);
  const auto state = host::read_module(module.reader());
  WEFT_CHECK(state.has_value());
  return *state;
}

/// The table that `nv show interface PORT link phy-detail` prints, as its JSON has it: name, value.
std::string as_nvue(const std::string& text, const std::string& port) {
  json detail;
  std::istringstream lines(text);
  for (std::string line, name, value; std::getline(lines, line);)
    if (std::istringstream words(line); words >> name && std::getline(words >> std::ws, value))
      if (name.front() != '-' && name != "operational") {
        value.erase(value.find_last_not_of(' ') + 1);
        detail[name] = value;
      }
  return json{{port, {{"link", {{"phy-detail", detail}}}}}}.dump();
}

Fields read(const json& capture) {
  const auto text = read_capture(capture.at("file").get<std::string>());
  const auto format = capture.at("format").get<std::string>();
  const auto port = capture.value("port", "");
  NicReading reading{.interface = "eth0", .driver = capture.value("driver", "")};
  if (format == "module") {
    reading.module = as_module(text);
  } else if (format == "mlxlink") {
    auto answer = host::read_mlxlink(text);
    WEFT_CHECK(answer.has_value());
    reading.driver_counters = std::move(answer->counts);
    reading.module = std::move(answer->module);
  } else if (format == "ethtool") {
    reading.driver_counters = as_strings(named_lines(text));
  } else if (format == "rdma") {
    reading.rdma = named_lines(text);
  } else if (format == "groups") {
    reading.kernel = as_groups(named_lines(text));
  } else if (format == "fec") {
    auto fec = as_fec(text);
    reading.fec = fec.mode;
    reading.kernel = std::move(fec.counts);
  } else if (format == "sonic_counters") {
    // The entry of a port: the rest of the database is names alone.
    return read_switch(json{{"COUNTERS_PORT_NAME_MAP", {{port, "oid:0x1000000000002"}}},
                            {"COUNTERS:oid:0x1000000000002", json::parse(text)}}
                           .dump(),
                       port);
  } else if (format == "portstat") {
    return read_switch(text, port);
  } else if (format == "nvue") {
    return read_switch(json{{port, json::parse(text)}}.dump(), port);
  } else {
    WEFT_CHECK(format == "nvue_phy");
    return read_switch(as_nvue(text, port), port);
  }
  return read_nic(reading);
}

CaptureVerdict judge(const json& capture) {
  CaptureVerdict verdict{.file = capture.at("file").get<std::string>(), .wrong = {}};
  const Fields wanted = stated(capture.at("expected")), got = read(capture);
  for (const auto& [name, value] : wanted) {
    ++verdict.fields;
    const auto found = got.find(name);
    if (found == got.end())
      verdict.wrong.push_back(fmt::format("{}: not read; it is {}", name, value));
    else if (found->second != value)
      verdict.wrong.push_back(fmt::format("{}: {}, not {}", name, found->second, value));
    else
      ++verdict.right;
  }
  for (const auto& [name, value] : got)
    if (!wanted.contains(name)) {
      ++verdict.fields;
      verdict.wrong.push_back(fmt::format("{}: {}, which it does not say", name, value));
    }
  return verdict;
}

}  // namespace

std::vector<CaptureVerdict> judge_captures() {
  const json table = json::parse(read_capture("captures.json"));
  std::vector<CaptureVerdict> verdicts;
  for (const json& capture : table.at("captures")) {
    WEFT_CHECK(!capture.at("source").get<std::string>().empty());
    verdicts.push_back(judge(capture));
  }
  return verdicts;
}

}  // namespace weft
