#include "collectors/counters/label_mapping.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "topology/base/outside_text.hpp"

namespace weft::counters {
namespace {

using enum PortCounter;

constexpr std::size_t kMaxLookedUp = 4'000'000;  // names kept: some for each port of the largest fabric

/// prometheus/node_exporter, collectors netdev and netclass.
MetricPreset node_exporter() {
  return {.name = "node_exporter",
          .boot_metric = "node_boot_time_seconds",
          .rules = {{.metric = "node_network_receive_packets_total", .key = {frames_in}},
                    {.metric = "node_network_transmit_packets_total", .key = {frames_out}},
                    {.metric = "node_network_receive_bytes_total", .key = {bytes_in}},
                    {.metric = "node_network_transmit_bytes_total", .key = {bytes_out}},
                    {.metric = "node_network_receive_errs_total", .key = {errors_in}},
                    {.metric = "node_network_transmit_errs_total", .key = {errors_out}},
                    {.metric = "node_network_receive_drop_total", .key = {discards_in}},
                    {.metric = "node_network_transmit_drop_total", .key = {discards_out}},
                    {.metric = "node_network_carrier_changes_total", .key = {link_events}}}};
}

/// prometheus/node_exporter, collector ethtool (--collector.ethtool; buildEthtoolFQName writes rx as received
/// and tx as transmitted): the counters of mlx5 and bnxt_en, as nic_names.cpp has them. Its source is its
/// own, as the kernel's frames leave RDMA out and are not what these errors are a share of.
MetricPreset node_ethtool() {
  const std::string in = "node_ethtool_received_", out = "node_ethtool_transmitted_";
  return {.name = "node_ethtool",
          .boot_metric = "node_boot_time_seconds",
          .rules = {{.metric = in + "packets_phy", .key = {frames_in}},
                    {.metric = out + "packets_phy", .key = {frames_out}},
                    {.metric = in + "crc_errors_phy", .key = {fcs_errors}},
                    {.metric = in + "corrected_bits_phy", .key = {fec_bits}},
                    {.metric = in + "pcs_symbol_err_phy", .key = {symbol_errors}},
                    {.metric = in + "discards_phy", .key = {discards_in}},
                    {.metric = in + "good_frames", .key = {frames_in}},
                    {.metric = out + "good_frames", .key = {frames_out}},
                    {.metric = in + "fcs_err_frames", .key = {fcs_errors}},
                    {.metric = in + "fec_corrected_blocks", .key = {fec_corrected}},
                    {.metric = in + "fec_uncorrectable_blocks", .key = {fec_uncorrectable}},
                    {.metric = in + "corrected_bits", .key = {fec_bits}},
                    {.metric = in + "stat_discard", .key = {discards_in}}}};
}

/// prometheus/node_exporter, collector infiniband: the counters of RDMA devices, whose port is one of each.
MetricPreset node_infiniband() {
  const std::string path = "node_infiniband_";
  return {.name = "node_infiniband",
          .boot_metric = "node_boot_time_seconds",
          .rules = {{.metric = path + "port_packets_received_total", .key = {frames_in}},
                    {.metric = path + "port_packets_transmitted_total", .key = {frames_out}},
                    {.metric = path + "port_data_received_bytes_total", .key = {bytes_in}},
                    {.metric = path + "port_data_transmitted_bytes_total", .key = {bytes_out}},
                    {.metric = path + "port_errors_received_total", .key = {errors_in}},
                    {.metric = path + "symbol_error_total", .key = {symbol_errors}},
                    {.metric = path + "port_discards_transmitted_total", .key = {discards_out}},
                    {.metric = path + "link_downed_total", .key = {link_events}}}};
}

/// prometheus/snmp_exporter, module if_mib and one with EtherLike-MIB (RFC 2863, RFC 3635).
MetricPreset snmp_exporter() {
  return {.name = "snmp_exporter",
          .port_label = "ifName",
          .rules = {{.metric = "ifHCInUcastPkts", .key = {frames_in}},
                    {.metric = "ifHCOutUcastPkts", .key = {frames_out}},
                    {.metric = "ifHCInOctets", .key = {bytes_in}},
                    {.metric = "ifHCOutOctets", .key = {bytes_out}},
                    {.metric = "ifInErrors", .key = {errors_in}, .narrow = true},
                    {.metric = "ifOutErrors", .key = {errors_out}, .narrow = true},
                    {.metric = "ifInDiscards", .key = {discards_in}, .narrow = true},
                    {.metric = "ifOutDiscards", .key = {discards_out}, .narrow = true},
                    {.metric = "dot3StatsFCSErrors", .key = {fcs_errors}, .narrow = true},
                    {.metric = "dot3InPauseFrames", .key = {pause_in}, .narrow = true},
                    {.metric = "dot3OutPauseFrames", .key = {pause_out}, .narrow = true}}};
}

/// openconfig/gnmic, output prometheus, of openconfig-interfaces.
MetricPreset gnmic() {
  const std::string path = "interfaces_interface_state_counters_";
  return {.name = "gnmic",
          .node_label = "source",
          .port_label = "interface_name",
          .rules = {{.metric = path + "in_pkts", .key = {frames_in}},
                    {.metric = path + "out_pkts", .key = {frames_out}},
                    {.metric = path + "in_octets", .key = {bytes_in}},
                    {.metric = path + "out_octets", .key = {bytes_out}},
                    {.metric = path + "in_fcs_errors", .key = {fcs_errors}},
                    {.metric = path + "in_errors", .key = {errors_in}},
                    {.metric = path + "out_errors", .key = {errors_out}},
                    {.metric = path + "in_discards", .key = {discards_in}},
                    {.metric = path + "out_discards", .key = {discards_out}},
                    {.metric = path + "carrier_transitions", .key = {link_events}}}};
}

/// openconfig/gnmic, output prometheus, of openconfig-platform-transceiver: the FEC of a port, which the
/// model has at the module in it (a block is a codeword: IEEE 802.3, 30.5.1.1.18).
MetricPreset gnmic_transceiver() {
  const std::string path = "components_component_transceiver_state_fec_";
  return {.name = "gnmic_transceiver",
          .node_label = "source",
          .port_label = "component_name",
          .rules = {{.metric = path + "uncorrectable_blocks", .key = {fec_uncorrectable}},
                    {.metric = path + "corrected_bits", .key = {fec_bits}}}};
}

/// vinted/sonic-exporter, interface collector.
MetricPreset sonic_exporter() {
  const std::string in = "sonic_interface_receive_", out = "sonic_interface_transmit_";
  return {.name = "sonic_exporter",
          .rules = {{.metric = in + "packets", .key = {frames_in}, .label = "method", .value = "ucast"},
                    {.metric = out + "packets", .key = {frames_out}, .label = "method", .value = "ucast"},
                    {.metric = in + "bytes", .key = {bytes_in}},
                    {.metric = out + "bytes", .key = {bytes_out}},
                    {.metric = in + "errs", .key = {errors_in}, .label = "type", .value = "error"},
                    {.metric = out + "errs", .key = {errors_out}, .label = "type", .value = "error"},
                    {.metric = in + "errs", .key = {discards_in}, .label = "type", .value = "discard"},
                    {.metric = out + "errs", .key = {discards_out}, .label = "type", .value = "discard"},
                    {.metric = in + "errs", .key = {pause_in}, .label = "type", .value = "pause"},
                    {.metric = out + "errs", .key = {pause_out}, .label = "type", .value = "pause"}}};
}

std::string_view without_tcp_port(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return name;
  if (name.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return name;
  return name.substr(0, colon);
}

}  // namespace

const std::vector<MetricPreset>& metric_presets() {
  static const std::vector<MetricPreset> kPresets{node_exporter(), node_ethtool(), node_infiniband(),
                                                  snmp_exporter(), gnmic(),        gnmic_transceiver(),
                                                  sonic_exporter()};
  return kPresets;
}

Result<MetricPreset> find_preset(std::string_view name) {
  const auto& all = metric_presets();
  const auto found = std::ranges::find(all, name, &MetricPreset::name);
  if (found != all.end()) return *found;
  std::vector<std::string_view> names;
  for (const MetricPreset& preset : all) names.push_back(preset.name);
  return fail(ErrorKind::not_found, "no preset is called '{}': there are {}", outside_text(name),
              fmt::join(names, ", "));
}

Result<PortId> LabelledPorts::look_up(std::string_view node, std::string_view port) const {
  const auto renamed = [&](std::string_view name) {
    const auto found = renames_.find(std::string(name));
    return found == renames_.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string_view name = without_tcp_port(node);
  if (const auto other = renamed(node); !other.empty())
    name = other;
  else if (const auto bare = renamed(name); !bare.empty())
    name = bare;
  if (!fabric_.find_node(name))
    if (const auto host = name.substr(0, name.find('.')); fabric_.find_node(host)) name = host;
  if (const auto whole = renamed(fmt::format("{}/{}", name, port)); !whole.empty())
    return fabric_.find_port(whole);
  if (const auto other = renamed(port); !other.empty()) port = other;
  return port_named(fabric_, name, port);
}

Result<PortId> LabelledPorts::find(std::string_view node, std::string_view port) {
  if (next_ < in_order_.size()) {
    const std::string_view words = in_order_[next_]->first;
    if (words.size() == node.size() + 1 + port.size() && words.starts_with(node) && words.ends_with(port) &&
        words[node.size()] == '\n')
      return in_order_[next_++]->second.port;
  }
  auto words = fmt::format("{}\n{}", node, port);
  if (const auto known = found_.find(words); known != found_.end()) {
    next_ = known->second.order + 1;
    return known->second.port;
  }
  auto port_id = look_up(node, port);
  if (found_.size() >= kMaxLookedUp) return port_id;
  const auto added = found_.emplace(std::move(words), Found{port_id, in_order_.size()}).first;
  in_order_.push_back(&*added);
  next_ = in_order_.size();
  return port_id;
}

}  // namespace weft::counters
