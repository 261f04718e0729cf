// Which metric of a monitoring system is which counter of which port: rules, of presets for exporters that
// many sites have and of a site's own. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectors/counters/counter_series.hpp"

namespace weft::counters {

/// One metric, or those of its series whose `label` has `value`.
struct MetricRule {
  std::string metric;
  CounterKey key;
  std::string label = {}, value = {};  // empty: all of its series
  std::string index_label = {};        // whose value is the key's index: a lane, a priority
  bool narrow = false;                 // 32 bits at its source
};

/// An exporter: what its metrics are called, and the labels that name the switch (or host) and its port.
struct MetricPreset {
  std::string name;
  std::string node_label = "instance";
  std::string port_label = "device";
  std::string boot_metric = {};  // of a node: another value, another boot
  std::vector<MetricRule> rules = {};
};

/// Of exporters that many sites have: docs/counters.md names the metrics and their sources.
const std::vector<MetricPreset>& metric_presets();
/// Error (not_found) with the names that there are.
Result<MetricPreset> find_preset(std::string_view name);

/// The ports of a fabric as labels name them.
class LabelledPorts {
 public:
  /// `renames`: what a label's value stands for, of nodes ("10.0.0.7") and of ports ("leaf1/swp1s0").
  LabelledPorts(const Fabric& fabric, std::map<std::string, std::string> renames)
      : fabric_(fabric), renames_(std::move(renames)) {}

  /// A node's value may end with a port of TCP or a domain: leaf1.example.net:9100 is leaf1. Error
  /// (not_found).
  Result<PortId> find(std::string_view node, std::string_view port);
  /// A server tells the ports of each metric in one order: names are held against the next one first.
  void begin_metric() { next_ = 0; }

 private:
  Result<PortId> look_up(std::string_view node, std::string_view port) const;
  const Fabric& fabric_;
  const std::map<std::string, std::string> renames_;
  struct Found {
    Result<PortId> port;
    std::size_t order = 0;  // of in_order_
  };
  std::unordered_map<std::string, Found> found_;  // by node, a line break, port
  std::vector<const std::pair<const std::string, Found>*> in_order_;
  std::size_t next_ = 0;
};

}  // namespace weft::counters
