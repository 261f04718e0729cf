#include "collectors/counters/nic_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/nic_names.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text.hpp"
#include "topology/files/json_text.hpp"

namespace weft::counters {
namespace {

using files::DocumentTree;

DocumentTree lane_values(const ModuleState& module, std::optional<double> ModuleLane::*of) {
  DocumentTree values = DocumentTree::array();
  for (const ModuleLane& lane : module.lanes)
    values.push_back(lane.*of ? DocumentTree(std::round(*(lane.*of) * 1e4) / 1e4) : DocumentTree());
  return values;
}

DocumentTree module_tree(const ModuleState& module) {
  DocumentTree tree{{"form", module.form}};
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) tree[name] = text;
  };
  put("vendor", module.vendor);
  put("part", module.part);
  put("serial", module.serial);
  if (module.wrong_checksum) tree["wrong_checksum"] = true;
  if (module.copper) tree["copper"] = true;
  if (module.aoc) tree["aoc"] = true;
  if (module.celsius) tree["celsius"] = *module.celsius;
  if (module.volts) tree["volts"] = *module.volts;
  if (!module.lanes.empty()) {
    tree["rx_mw"] = lane_values(module, &ModuleLane::rx_mw);
    tree["tx_mw"] = lane_values(module, &ModuleLane::tx_mw);
    tree["bias_ma"] = lane_values(module, &ModuleLane::bias_ma);
  }
  for (const ModuleDiagnostic& one : module.diagnostics)
    tree["diagnostics"].push_back({{"name", one.name}, {"lane", one.lane}, {"value", one.value}});
  return tree;
}

DocumentTree nic_tree(const std::string& boot, const NicAt& nic) {
  const NicReading& reading = nic.reading;
  DocumentTree tree{{"at", instant_text(nic.at)}, {"port", nic.port}};
  if (!boot.empty()) tree["boot"] = boot;
  auto& counters = tree["counters"] = DocumentTree::object();
  for (const auto& [key, count] : nic_counts(reading)) counters[to_string(key)] = count.value;
  tree["interface"] = reading.interface;
  if (!reading.driver.empty()) tree["driver"] = reading.driver;
  if (!reading.firmware.empty()) tree["firmware"] = reading.firmware;
  if (reading.pci) tree["pci"] = *reading.pci;
  if (reading.pci_id) tree["pci_id"] = *reading.pci_id;
  if (reading.speed) tree["bits_per_second"] = reading.speed->bits_per_second();
  if (reading.temperatures.device) tree["celsius"] = *reading.temperatures.device;
  if (reading.temperatures.module) tree["module_celsius"] = *reading.temperatures.module;
  if (reading.temperatures.gpu) tree["gpu_celsius"] = *reading.temperatures.gpu;
  if (reading.fec) tree["fec"] = *reading.fec;
  if (reading.module) tree["module"] = module_tree(*reading.module);
  if (!reading.pcie.empty()) tree["pcie"] = reading.pcie;
  for (const NotRead& one : reading.not_read) tree["not_read"][one.what] = one.why;
  return tree;
}

std::string power_text(const std::optional<double>& milliwatts) {
  return milliwatts ? dbm_text(*milliwatts) : "-";
}

std::string module_text(const ModuleState& module, std::size_t width) {
  std::string head = "module: " + module.form;
  for (const auto& word : {module.vendor, module.part}) head += word.empty() ? "" : " " + word;
  if (!module.serial.empty()) head += ", serial " + module.serial;
  if (module.wrong_checksum) head += ", its check sum is wrong: nothing is said of who made it";
  if (module.copper) head += ", copper";
  if (module.aoc) head += ", active optical cable";
  if (module.celsius) head += fmt::format(", {:.1f} C", *module.celsius);
  if (module.volts) head += fmt::format(", {:.2f} V", *module.volts);
  std::string text = wrapped(head, 2, width, 2);
  for (std::size_t i = 0; i < module.lanes.size(); ++i) {
    const ModuleLane& lane = module.lanes[i];
    text += fmt::format("    lane {}: received {:>10}, sent {:>10}, bias {}\n", i + 1, power_text(lane.rx_mw),
                        power_text(lane.tx_mw), lane.bias_ma ? fmt::format("{:.1f} mA", *lane.bias_ma) : "-");
  }
  for (const ModuleDiagnostic& one : module.diagnostics)
    text += fmt::format("    {}, lane {}: {:.3g}\n", one.name, one.lane, one.value);
  return text;
}

}  // namespace

std::string dbm_text(double milliwatts) {
  return milliwatts > 0 ? fmt::format("{:.1f} dBm", 10 * std::log10(milliwatts)) : "no light";
}

std::string nic_lines(const std::string& host, const std::string& boot, const std::vector<NicAt>& nics,
                      const std::string& agent) {
  DocumentTree head{{"schema", kCounterSchema}, {"source", "ethtool"}};
  if (!host.empty()) head["host"] = host;
  if (!agent.empty()) head["agent"] = agent;
  std::string text = files::document_line(head) + "\n";
  for (const NicAt& nic : nics) text += files::document_line(nic_tree(boot, nic)) + "\n";
  return text;
}

std::string nic_text(const std::vector<NicAt>& nics, std::size_t width) {
  std::string text;
  for (const NicAt& nic : nics) {
    const NicReading& reading = nic.reading;
    std::string head = nic.port;
    if (nic.port != reading.interface) head += fmt::format(" ({})", reading.interface);
    if (!reading.driver.empty()) head += ", " + outside_text(reading.driver);
    if (!reading.firmware.empty()) head += ", firmware " + outside_text(reading.firmware);
    if (reading.fec) head += ", FEC " + *reading.fec;
    if (reading.temperatures.device) head += fmt::format(", {:.1f} C", *reading.temperatures.device);
    text += wrapped(head, 0, width, 2);
    for (const auto& [key, count] : nic_counts(reading))
      text += fmt::format("  {:<18} {:>20}  {}\n", to_string(key), count.value,
                          outside_text(count.name.substr(0, 36)));
    if (reading.module) text += module_text(*reading.module, width);
    for (const auto& [name, count] : reading.pcie)
      text += wrapped(fmt::format("PCIe: {}: {}", name, count), 2, width, 2);
    for (const NotRead& one : reading.not_read)
      text += wrapped(fmt::format("not read: {}: {}", one.what, one.why), 2, width, 2);
  }
  return text;
}

}  // namespace weft::counters
