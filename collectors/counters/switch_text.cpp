#include "collectors/counters/switch_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/counter_pattern.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/json_view.hpp"

namespace weft::counters {
namespace {

using nlohmann::json;
using enum PortCounter;

// 512 ports with 200 values each, and their queues.
constexpr JsonLimits kLimits{.bytes = 64'000'000, .depth = 32, .values = 2'000'000};
constexpr std::string_view kPortNames = "COUNTERS_PORT_NAME_MAP";

/// '#' stands for the index. Two of one counter are its parts.
struct Name {
  std::string_view theirs;
  PortCounter ours;
};

/// saiport.h of opencomputeproject/SAI. Frames are what portstat's RX_OK and TX_OK are.
constexpr std::array kSaiNames{Name{"SAI_PORT_STAT_IF_IN_UCAST_PKTS", frames_in},
                               Name{"SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", frames_in},
                               Name{"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", frames_out},
                               Name{"SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", frames_out},
                               Name{"SAI_PORT_STAT_IF_IN_OCTETS", bytes_in},
                               Name{"SAI_PORT_STAT_IF_OUT_OCTETS", bytes_out},
                               Name{"SAI_PORT_STAT_IF_IN_ERRORS", errors_in},
                               Name{"SAI_PORT_STAT_IF_OUT_ERRORS", errors_out},
                               Name{"SAI_PORT_STAT_IF_IN_DISCARDS", discards_in},
                               Name{"SAI_PORT_STAT_IF_OUT_DISCARDS", discards_out},
                               Name{"SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", fcs_errors},
                               Name{"SAI_PORT_STAT_PAUSE_RX_PKTS", pause_in},
                               Name{"SAI_PORT_STAT_PAUSE_TX_PKTS", pause_out},
                               Name{"SAI_PORT_STAT_PFC_#_RX_PKTS", pause_in},
                               Name{"SAI_PORT_STAT_PFC_#_TX_PKTS", pause_out},
                               Name{"SAI_PORT_STAT_ECN_MARKED_PACKETS", ecn_marked},
                               Name{"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", fec_corrected},
                               Name{"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", fec_uncorrectable},
                               Name{"SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS", fec_bits},
                               Name{"SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", symbol_errors},
                               Name{"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S#", fec_bin}};
/// utilities_common/portstat of sonic-net/sonic-utilities.
constexpr std::array kPortstatNames{Name{"RX_OK", frames_in},
                                    Name{"TX_OK", frames_out},
                                    Name{"RX_ERR", errors_in},
                                    Name{"TX_ERR", errors_out},
                                    Name{"RX_DRP", discards_in},
                                    Name{"TX_DRP", discards_out},
                                    Name{"FEC_CORR", fec_corrected},
                                    Name{"FEC_UNCORR", fec_uncorrectable},
                                    Name{"FEC_SYMBOL_ERR", symbol_errors}};
/// `nv show interface`, `link stats` and `link phy-detail` (from 5.15 on `link phy health`) of Cumulus
/// Linux 5.
constexpr std::array kNvueNames{Name{"in-pkts", frames_in},
                                Name{"out-pkts", frames_out},
                                Name{"in-bytes", bytes_in},
                                Name{"out-bytes", bytes_out},
                                Name{"in-errors", errors_in},
                                Name{"out-errors", errors_out},
                                Name{"in-drops", discards_in},
                                Name{"out-drops", discards_out},
                                Name{"carrier-transitions", link_events},
                                Name{"symbol-errors", symbol_errors},
                                Name{"phy-raw-errors-lane#", symbol_errors},
                                Name{"rs-num-corr-err-bin#", fec_bin},
                                Name{"fec-blocks-corrected", fec_corrected},
                                Name{"fec-blocks-uncorrectable", fec_uncorrectable}};

using Names = std::span<const Name>;
using Counts = std::map<CounterKey, std::uint64_t>;

std::optional<CounterKey> ours(Names names, std::string_view theirs) {
  for (const Name& one : names)
    if (const auto key = key_by_pattern(one.theirs, one.ours, theirs)) return key;
  return std::nullopt;
}

/// What a program prints beside its JSON: portstat has lines before it (over which time it has its rates) and
/// behind it (a reminder of internal links). Lines before the first that begins a document and behind the
/// last that may end one are left out.
std::string_view document_in(std::string_view text) {
  const auto begins = [](std::string_view line) {
    const auto first = line.find_first_not_of(" \t\r");
    return first != line.npos && (line[first] == '{' || line[first] == '[');
  };
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (begins(line)) break;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  while (!text.empty()) {
    const auto end = text.rfind('\n');
    const auto line = end == text.npos ? text : text.substr(end);
    if (line.find_first_of("]}") != line.npos || line.size() == text.size()) break;
    text.remove_suffix(line.size());
  }
  return text;
}

/// Numbers stand as such, as text, and as text with a comma at each thousand; N/A is none.
std::optional<std::uint64_t> count_in(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  auto text = value.get<std::string>();
  std::erase(text, ',');
  return parse_whole_number<std::uint64_t>(text);
}

class SwitchReader {
 public:
  SwitchReader(const Fabric& fabric, std::string_view name, std::string_view node, Nanoseconds at,
               CounterTable& into)
      : fabric_(fabric),
        node_(node),
        at_(at),
        into_(into),
        source_(into.source(name)),
        exporter_(into.exporter(name)) {}

  Result<SwitchForm> read(const json& root) {
    const auto form = form_of(root);
    if (!form)
      return fail(ErrorKind::invalid_input,
                  "none of weft.counters/1, SONiC's COUNTERS_DB, portstat -j, nv show interface -o json");
    Result<void> done;
    if (*form == SwitchForm::sonic_db) {
      done = read_sonic_db(root);
    } else {
      for (const auto& [port, values] : root.items())
        if (done && values.is_object())
          done =
              *form == SwitchForm::nvue ? read_nvue(port, values) : read_values(kPortstatNames, port, values);
    }
    if (!done) return pass_on(done);
    if (used_ == 0)
      return fail(ErrorKind::invalid_input, "no counter of a port of {}{}", outside_text(node_),
                  into_.unplaced.first.empty() ? "" : ": " + into_.unplaced.first.front());
    return *form;
  }

 private:
  static std::optional<SwitchForm> form_of(const json& root) {
    if (!root.is_object() || root.empty()) return std::nullopt;
    if (root.contains(kPortNames)) return SwitchForm::sonic_db;
    for (const auto& values : root)
      if (values.is_object()) {
        if (values.contains("RX_OK") || values.contains("FEC_CORR")) return SwitchForm::portstat;
        if (values.contains("link") || values.contains("counters")) return SwitchForm::nvue;
      }
    return std::nullopt;
  }

  /// Redis's own JSON has the members of a hash at its key; a dump has them in "value".
  static const json& hash_in(const json& entry) {
    return entry.is_object() && entry.contains("value") && entry["value"].is_object() ? entry["value"]
                                                                                      : entry;
  }

  Result<void> read_sonic_db(const json& root) {
    const json& names = hash_in(root[std::string(kPortNames)]);
    if (!names.is_object()) return fail(ErrorKind::invalid_input, "{} is no object", kPortNames);
    for (const auto& [port, id] : names.items()) {
      if (!id.is_string()) continue;
      const auto entry = root.find("COUNTERS:" + id.get_ref<const std::string&>());
      if (entry == root.end() || !hash_in(*entry).is_object()) {
        into_.refused.add(fmt::format("{} {}: COUNTERS:{} is missing", node_, port, id.get<std::string>()));
        continue;
      }
      WEFT_TRY_VOID(read_values(kSaiNames, port, hash_in(*entry)));
    }
    return {};
  }

  /// `link` has `stats`, and by the release `phy-detail` or `phy` with `health`; `counters` is beside it.
  Result<void> read_nvue(const std::string& port, const json& interface) {
    std::vector<const json*> open{&interface};
    for (std::size_t i = 0; i < open.size(); ++i) {
      WEFT_TRY_VOID(read_values(kNvueNames, port, *open[i]));
      for (const auto& [name, inner] : open[i]->items())
        if (inner.is_object() && (name == "link" || name == "counters" || name == "stats" ||
                                  name.starts_with("phy") || name == "health" || name == "detail"))
          open.push_back(&inner);
    }
    return {};
  }

  Counts counts_in(Names names, const std::string& port, const json& values) {
    Counts counts;
    for (const auto& [name, value] : values.items()) {
      const auto key = ours(names, name);
      if (!key) continue;
      if (const auto count = count_in(value))
        counts[*key] += *count;
      else if (!(value.is_string() && value == "N/A"))
        into_.refused.add(fmt::format("{} {}: {} is no count", node_, port, name));
    }
    return counts;
  }

  Result<void> read_values(Names names, const std::string& port, const json& values) {
    const auto counts = counts_in(names, port, values);
    if (counts.empty()) return {};
    const auto place = port_named(fabric_, node_, port);
    if (!place) return into_.unplaced.add(place.error().message), Result<void>();
    for (const auto& [key, count] : counts) {
      CounterSeries& series = into_.at(*place, key, source_);
      series.exporter = exporter_;
      WEFT_TRY_VOID(into_.add(series, {at_, count, 0}));
      ++used_;
    }
    return {};
  }

  const Fabric& fabric_;
  std::string_view node_;
  const Nanoseconds at_;
  CounterTable& into_;
  const std::uint32_t source_, exporter_;
  std::size_t used_ = 0;
};

}  // namespace

Result<SwitchForm> read_switch_text(const Fabric& fabric, std::string_view text, std::string_view name,
                                    std::string_view node, Nanoseconds at, CounterTable& into) {
  if (is_counter_file(text)) {
    WEFT_TRY_VOID(read_counter_file(fabric, text, name, node, at, into));
    return SwitchForm::weft;
  }
  const auto what = outside_text(name);
  text = document_in(text);
  if (text.empty())
    return fail(ErrorKind::invalid_input,
                "{}: no counters of a RoCE fabric: expected weft.counters/1, or JSON of a switch "
                "(COUNTERS_DB, portstat, NVUE)",
                what);
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto root, files::parse_json(text, what));
  const auto form = SwitchReader(fabric, name, node, at, into).read(root);
  return form ? form : pass_on(form, what);
}

}  // namespace weft::counters
