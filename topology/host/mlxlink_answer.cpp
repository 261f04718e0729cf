#include "topology/host/mlxlink_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/json_view.hpp"

namespace weft::host {
namespace {

constexpr JsonLimits kLimits{.bytes = 262'144, .depth = 8, .values = 5'000};
constexpr std::size_t kMaxLanes = 16, kMaxWord = 64;
constexpr double kMillivolts = 1e-3;

using Section = nlohmann::json;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string text_of(const Section& section, const char* key) {
  const auto found = section.find(key);
  if (found == section.end() || !found->is_string()) return {};
  const auto& text = found->get_ref<const std::string&>();
  return std::string(trimmed(std::string_view(text).substr(0, text.rfind(" ["))));  // "50 [-5..75]"
}

std::string word_of(const Section& section, const char* key) {
  const auto text = text_of(section, key);
  return text == "N/A" ? std::string() : outside_text(std::string_view(text).substr(0, kMaxWord));
}

/// By lane, in each form that there is: {"values": ["0", "1"]}, ["0", "1"], "0,1".
std::vector<std::string> lanes_of(const Section& section, const char* key) {
  std::vector<std::string> lanes;
  const auto found = section.find(key);
  if (found == section.end()) return lanes;
  const Section& values = found->is_object() && found->contains("values") ? (*found)["values"] : *found;
  if (values.is_array())
    for (const Section& one : values)
      lanes.push_back(one.is_string() ? one.get<std::string>() : std::string());
  const std::string text = text_of(section, key);  // empty of all but a text
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = rest.find(',');
    lanes.emplace_back(trimmed(rest.substr(0, comma)));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  if (lanes.size() > kMaxLanes) lanes.clear();
  return lanes;
}

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_whole = !text.empty() && end == text.c_str() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void take_count(const Section& section, const char* key, const char* name, NamedCounts& into) {
  if (const auto count = parse_whole_number<std::uint64_t>(text_of(section, key))) into.emplace(name, *count);
}

/// {"Bin 3": {"values": ["[3]", "177"]}}: how many codewords had so many symbols corrected; a bin of several
/// numbers ("[4:7]") is left out.
void take_bins(const Section& histogram, NamedCounts& into) {
  for (const auto& [name, bin] : histogram.items()) {
    const auto values = bin.is_object() ? lanes_of(histogram, name.c_str()) : std::vector<std::string>();
    if (!name.starts_with("Bin ") || values.size() != 2 || values[0].size() < 3) continue;
    const auto number = parse_whole_number<unsigned>(values[0].substr(1, values[0].size() - 2));
    const auto count = parse_whole_number<std::uint64_t>(values[1]);
    if (number && count && values[0] == fmt::format("[{}]", *number))
      into.emplace(fmt::format("mlxlink_fec_bin{}", *number), *count);
  }
}

/// Of dBm. -40, or as ethtool writes it -inf, is what a module without light says.
std::optional<double> milliwatts(const std::string& text) {
  if (text == "-inf" || text == "-Inf") return 0;
  const auto dbm = number_of(text);
  if (!dbm || *dbm > 30) return std::nullopt;
  return *dbm <= -40 ? 0 : std::pow(10, *dbm / 10);
}

ModuleState module_of(const Section& section) {
  ModuleState module{.form = word_of(section, "Identifier"),
                     .vendor = word_of(section, "Vendor Name"),
                     .part = word_of(section, "Vendor Part Number"),
                     .serial = word_of(section, "Vendor Serial Number")};
  const auto cable = text_of(section, "Cable Type");
  module.copper = cable.find("opper") != std::string::npos;
  module.aoc = !module.copper && cable.find("ctive cable") != std::string::npos;
  module.celsius = number_of(text_of(section, "Temperature [C]"));
  if (const auto volts = number_of(text_of(section, "Voltage [mV]"))) module.volts = *volts * kMillivolts;
  if (module.copper) return module;
  const auto received = lanes_of(section, "Rx Power Current [dBm]"),
             sent = lanes_of(section, "Tx Power Current [dBm]"),
             bias = lanes_of(section, "Bias Current [mA]");
  module.lanes.resize(std::max({received.size(), sent.size(), bias.size()}));
  for (std::size_t i = 0; i < module.lanes.size(); ++i) {
    ModuleLane& lane = module.lanes[i];
    if (i < received.size()) lane.rx_mw = milliwatts(received[i]);
    if (i < sent.size()) lane.tx_mw = milliwatts(sent[i]);
    if (i < bias.size()) lane.bias_ma = number_of(bias[i]);
    if (lane.bias_ma && *lane.bias_ma < 0) lane.bias_ma.reset();
  }
  return module;
}

}  // namespace

Result<MlxlinkAnswer> read_mlxlink(std::string_view text) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  WEFT_TRY(const auto value, files::parse_json(text, "mlxlink"));
  const files::JsonView view(value, "mlxlink");
  if (const auto status = view.find("status"))
    if (const auto code = status->find("code"))
      if (const auto number = code->number(); !number || *number != 0) {
        const auto words = status->find("message");
        const auto said = words ? words->text() : Result<std::string_view>(std::string_view());
        return fail(ErrorKind::not_supported, "it says: {}",
                    outside_text(said ? said->substr(0, 200) : std::string_view()));
      }
  WEFT_TRY(const auto result, view.need("result"));
  WEFT_TRY_VOID(result.need("output").map([](const auto&) {}));
  const Section& output = value["result"]["output"];
  if (!output.is_object()) return result.error("'output' is no object");
  MlxlinkAnswer answer;
  if (const auto counters = output.find("Physical Counters and BER Info");
      counters != output.end() && counters->is_object()) {
    take_count(*counters, "Effective Physical Errors", "mlxlink_symbol_errors", answer.counts);
    take_count(*counters, "Link Down Counter", "mlxlink_link_down", answer.counts);
    const auto lanes = lanes_of(*counters, "Raw Physical Errors Per Lane");
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (const auto count = parse_whole_number<std::uint64_t>(lanes[i]))
        answer.counts.emplace(fmt::format("mlxlink_raw_errors_lane{}", i), *count);
  }
  if (const auto histogram = output.find("Histogram of FEC Errors");
      histogram != output.end() && histogram->is_object())
    take_bins(*histogram, answer.counts);
  if (const auto module = output.find("Module Info"); module != output.end() && module->is_object())
    answer.module = module_of(*module);
  return answer;
}

}  // namespace weft::host
