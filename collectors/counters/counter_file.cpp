#include "collectors/counters/counter_file.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "topology/base/instant.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::counters {
namespace {

using files::JsonView;

// A port has some 60 counters with all bins, lanes and priorities.
constexpr JsonLimits kLineLimits{.bytes = 65'536, .depth = 4, .values = 1'000};
constexpr Nanoseconds kClocksApart = std::chrono::minutes(5);  // of the machine that read and this one
constexpr std::size_t kMaxWord = 200;                          // of a name, a boot's id, a serial

// Of what a host tells of itself.
constexpr std::size_t kMaxHostPorts = 64;
constexpr std::size_t kMaxFacts = 64;  // characters of a part, a serial, the id of a boot
constexpr double kMaxSpeed = 1e14;     // bits a second

/// What a line says of itself, or the first line for all.
struct Place {
  std::string source, node, port;
  EpochWords epoch;
  std::optional<Nanoseconds> at = std::nullopt;
};

Result<void> take_text(const JsonView& line, std::string_view key, std::string& into) {
  const auto found = line.find(key);
  if (!found) return {};
  WEFT_TRY(const auto text, found->text());
  if (text.empty() || text.size() > kMaxWord)
    return found->error("expected a text of 1 to {} characters", kMaxWord);
  into = text;
  return {};
}

Result<void> take_place(const JsonView& line, Place& into) {
  WEFT_TRY_VOID(in_turn([&] { return take_text(line, "source", into.source); },
                        [&] { return take_text(line, "switch", into.node); },
                        [&] { return take_text(line, "host", into.node); },
                        [&] { return take_text(line, "port", into.port); },
                        [&] { return take_text(line, "boot", into.epoch.boot); },
                        [&] { return take_text(line, "cleared", into.epoch.cleared); },
                        [&] { return take_text(line, "serial", into.epoch.serial); }));
  const auto at = line.find("at");
  if (!at) return {};
  WEFT_TRY(const auto text, at->text());
  const auto time = parse_instant(text);
  if (!time) return at->error("{}", time.error().message);
  into.at = *time;
  return {};
}

Result<void> take_flag(const JsonView& line, std::string_view key, bool& into) {
  const auto found = line.find(key);
  if (!found) return {};
  WEFT_TRY(into, found->boolean());
  return {};
}

constexpr std::size_t kMaxLanes = 16;

/// Values by lane, null where a lane has none.
Result<void> take_lanes(const JsonView& module, std::string_view key, std::optional<double> ModuleLane::*into,
                        std::vector<ModuleLane>& lanes) {
  const auto values = module.find(key);
  if (!values) return {};
  WEFT_TRY(const auto size, values->size());
  if (size > kMaxLanes) return values->error("expected at most {} lanes", kMaxLanes);
  lanes.resize(std::max(lanes.size(), size));
  for (std::size_t i = 0; i < size; ++i) {
    const JsonView value = values->at(i);
    if (value.shown() == "null") continue;
    WEFT_TRY(const auto number, value.number());
    if (!(number >= 0 && number < 1e6)) return value.error("expected a number from 0 to 1,000,000");
    lanes[i].*into = number;
  }
  return {};
}

Result<void> take_celsius(const JsonView& view, std::string_view key, std::optional<double>& into) {
  const auto found = view.find(key);
  if (!found) return {};
  WEFT_TRY(const auto celsius, found->number());
  if (is_celsius_of_electronics(celsius)) into = celsius;
  return {};
}

Result<ModuleState> module_of(const JsonView& view) {
  ModuleState state;
  WEFT_TRY_VOID(in_turn([&] { return take_text(view, "form", state.form); },
                        [&] { return take_text(view, "part", state.part); },
                        [&] { return take_text(view, "serial", state.serial); },
                        [&] { return take_lanes(view, "rx_mw", &ModuleLane::rx_mw, state.lanes); },
                        [&] { return take_lanes(view, "tx_mw", &ModuleLane::tx_mw, state.lanes); },
                        [&] { return take_lanes(view, "bias_ma", &ModuleLane::bias_ma, state.lanes); },
                        [&] { return take_flag(view, "copper", state.copper); },
                        [&] { return take_flag(view, "aoc", state.aoc); }));
  if (state.serial.find_last_not_of(' ') != std::string::npos)
    state.serial = state.serial.substr(state.serial.find_first_not_of(' '));
  state.serial.erase(state.serial.find_last_not_of(' ') + 1);
  WEFT_TRY_VOID(take_celsius(view, "celsius", state.celsius));
  return state;
}

class Reader {
 public:
  Reader(const Fabric& fabric, std::string_view name, std::string_view node, Nanoseconds now,
         CounterTable& into, const HostPorts* own = nullptr)
      : fabric_(fabric), into_(into), name_(name), node_(node), now_(now), own_(own) {}

  Result<void> read(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const auto end = text.find('\n');
      const auto line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const auto done = read_line(line);
      if (done) continue;
      if (!has_schema_ || into_.points() >= CounterTable::kMaxPoints)
        return pass_on(done, fmt::format("{}:{}", outside_text(name_), number));
      into_.refused.add(fmt::format("{}:{}: {}", name_, number, done.error().message));
    }
    if (used_ > 0) return {};
    return fail(ErrorKind::invalid_input, "{}: no reading in it of a port of the fabric{}",
                outside_text(name_), first_trouble());
  }

 private:
  std::string first_trouble() const {
    if (!into_.unplaced.first.empty()) return ": " + into_.unplaced.first.front();
    return into_.refused.first.empty() ? "" : ": " + into_.refused.first.front();
  }

  static Result<nlohmann::json> parsed(std::string_view text) {
    WEFT_TRY_VOID(check_json_limits(text, kLineLimits));
    return files::parse_json(text, "a line");
  }

  Result<void> read_line(std::string_view text) {
    const auto value = parsed(text);
    if (!value) {
      if (text.find("\"schema\"") != std::string_view::npos) usual_.reset();
      return tl::unexpected(value.error());
    }
    const JsonView line(*value, "a line");
    // Files put one behind the other: each begins with its own.
    if (!has_schema_ || line.find("schema")) {
      usual_.reset();  // where this one fails, the one before it does not hold either
      WEFT_TRY_VOID(check_schema(line, kCounterSchema));
      has_schema_ = true;
      Place usual{.source = name_, .node = node_, .port = {}, .epoch = {}};
      WEFT_TRY_VOID(take_place(line, usual));
      usual_ = std::move(usual);
      WEFT_TRY_VOID(in_turn([&] { return check_member(line, "agent"); },
                            [&] { return take_text(line, "agent", agent_); }));
      if (!line.find("counters")) return {};
    }
    if (!usual_) return line.error("the line before it that says the schema could not be read");
    Place place = *usual_;
    WEFT_TRY_VOID(take_place(line, place));
    if (own_ != nullptr) WEFT_TRY_VOID(confine(line, place));
    return read_counters(line, place, *value);
  }

  /// To what a host may tell: of its own ports, once each, as itself, of lately.
  Result<void> confine(const JsonView& line, Place& place) {
    if (!place.epoch.cleared.empty() || !place.epoch.serial.empty())
      return line.error("a host tells neither 'cleared' nor 'serial'");
    if (place.at && *place.at < now_ - kOldestHostReading)
      return line.error("'at' is {}, which is long ago: is the clock right?", instant_text(*place.at));
    if (place.at && *place.at <= now_ + kClocksApart) place.at = std::min(*place.at, now_);
    WEFT_TRY_VOID(check_fact(line, place.epoch.boot));
    if (const auto module = line.find("module"))
      for (const char* fact : {"form", "part", "serial"}) WEFT_TRY_VOID(check_member(*module, fact));
    for (const char* fact : {"fec", "driver", "firmware", "pci", "pci_id", "interface"})
      WEFT_TRY_VOID(check_member(line, fact));
    if (!told_.insert(place.port).second || told_.size() > kMaxHostPorts)
      return line.error("a port has one line, and a host {} ports at most", kMaxHostPorts);
    place.source = own_->source;
    place.node.clear();
    return {};
  }
  static Result<void> check_fact(const JsonView& view, std::string_view word) {
    if (word.size() <= kMaxFacts) return {};
    return view.error("expected words of at most {} characters", kMaxFacts);
  }
  static Result<void> check_member(const JsonView& view, std::string_view key) {
    const auto member = view.find(key);
    if (!member) return {};
    WEFT_TRY(const auto word, member->text());
    return check_fact(*member, word);
  }

  Result<void> read_counters(const JsonView& line, const Place& place, const nlohmann::json& value) {
    WEFT_TRY(const auto counters, line.need("counters"));
    if (!value["counters"].is_object()) return counters.error("expected an object");
    if (!place.at) return line.error("'at' is missing: when was it read?");
    if (*place.at > now_ + kClocksApart)
      return line.error("'at' is {}, which lies ahead: is the clock right?", instant_text(*place.at));
    const auto port = port_of(place);
    if (!port) return into_.unplaced.add(port.error().message), Result<void>();
    const auto source = into_.source(place.source), exporter = into_.exporter(place.source);
    if (const auto fec = line.find("fec"); fec && fec->shown() != "null") {
      WEFT_TRY(const auto mode, fec->text());
      take_fec(*port, *place.at, mode);
    }
    EpochWords words = place.epoch;
    WEFT_TRY(const auto serial, take_module(line, *port, source, *place.at));
    WEFT_TRY_VOID(take_temperatures(line, *port, source, *place.at));
    if (own_ != nullptr) WEFT_TRY_VOID(take_device(line, *port, *place.at));
    if (words.serial.empty()) words.serial = serial;
    const auto epoch = into_.epoch(words);
    for (const auto& member : value["counters"].items()) {
      const auto key = parse_counter_key(member.key());
      if (!key) {
        into_.refused.add(fmt::format("no counter is called '{}'", outside_text(member.key().substr(0, 40))));
        continue;
      }
      if (member.value().is_null()) continue;  // not told
      WEFT_TRY(const auto number, counters.need(member.key()));
      WEFT_TRY(const auto count, number.count<std::uint64_t>());
      CounterSeries& series = into_.at(*port, *key, source);
      series.exporter = exporter;
      WEFT_TRY_VOID(into_.add(series, {*place.at, count, epoch}));
      ++used_;
    }
    return {};
  }

  void take_fec(PortId port, Nanoseconds at, std::string_view mode) {
    PortFec& known = into_.fec_modes[port];
    if (at >= known.at) known = {at, std::string(mode.substr(0, kMaxWord))};
  }

  Result<void> take_device(const JsonView& line, PortId port, Nanoseconds at) {
    PortDevice device;
    device.at = at;
    device.agent = agent_;
    WEFT_TRY_VOID(in_turn([&] { return take_text(line, "driver", device.driver); },
                          [&] { return take_text(line, "firmware", device.firmware); },
                          [&] { return take_text(line, "pci", device.pci); },
                          [&] { return take_text(line, "pci_id", device.id); },
                          [&] { return take_text(line, "interface", device.interface); }));
    if (const auto speed = line.find("bits_per_second")) {
      WEFT_TRY(const auto bits, speed->number());
      if (bits > 0 && bits < kMaxSpeed) device.speed = Bandwidth::bit(bits);
    }
    if (device.driver.empty()) return {};
    PortDevice& known = into_.devices[port];
    if (at >= known.at) known = std::move(device);
    return {};
  }

  Result<void> take_temperatures(const JsonView& line, PortId port, std::uint32_t source, Nanoseconds at) {
    Temperatures celsius;
    WEFT_TRY_VOID(take_celsius(line, "celsius", celsius.device));
    WEFT_TRY_VOID(take_celsius(line, "module_celsius", celsius.module));
    WEFT_TRY_VOID(take_celsius(line, "gpu_celsius", celsius.gpu));
    if (const auto module = line.find("module"))
      WEFT_TRY_VOID(take_celsius(*module, "celsius", celsius.module));
    if (celsius == Temperatures()) return {};
    into_.temperatures[{port, source}].push_back({at, celsius});
    ++used_;
    return {};
  }

  /// What `weft counters nic` tells of the module beside the counters: its serial, empty where there is none.
  Result<std::string> take_module(const JsonView& line, PortId port, std::uint32_t source, Nanoseconds at) {
    const auto module = line.find("module");
    if (!module) return std::string();
    WEFT_TRY(auto state, module_of(*module));
    auto& known = into_.modules[port];
    if (!state.serial.empty()) {
      std::string& before = known.serials[source];
      if (!before.empty()) known.changed = known.changed.value_or(false) || before != state.serial;
      before = state.serial;
    }
    std::string serial = state.serial;
    if (at < known.at) return serial;
    known.at = at;
    known.state = std::move(state);
    return serial;
  }

  /// The names of a port repeat with each time.
  Result<PortId> port_of(const Place& place) {
    if (own_ != nullptr) {
      const auto own = own_->ports.find(place.port);
      if (own != own_->ports.end()) return own->second;
      return fail(ErrorKind::not_found, "{}: it has no port '{}'", own_->source, outside_text(place.port));
    }
    const auto [found, is_new] = ports_.try_emplace({place.node, place.port}, PortId(0));
    if (!is_new) return found->second;
    auto port =
        place.node.empty() ? fabric_.find_port(place.port) : port_named(fabric_, place.node, place.port);
    if (!port && place.node.empty())
      if (const auto nic = fabric_.find_nic(place.port)) port = *nic;
    found->second = port;
    return port;
  }

  const Fabric& fabric_;
  CounterTable& into_;
  std::string name_, node_;
  Nanoseconds now_;
  const HostPorts* own_;        // null: it may tell of all ports
  std::set<std::string> told_;  // of its ports
  std::string agent_;           // the version of the agent that tells
  std::optional<Place> usual_;  // absent: the last header could not be read
  std::map<std::pair<std::string, std::string>, Result<PortId>> ports_;
  bool has_schema_ = false;
  std::size_t used_ = 0;
};

}  // namespace

bool is_counter_file(std::string_view text) {
  return text.substr(0, text.find('\n')).find(kCounterSchema) != std::string_view::npos;
}

Result<void> read_counter_file(const Fabric& fabric, std::string_view text, std::string_view name,
                               std::string_view node, Nanoseconds now, CounterTable& into) {
  return Reader(fabric, name, node, now, into).read(text);
}

Result<void> read_host_counters(const Fabric& fabric, const HostPorts& own, std::string_view text,
                                Nanoseconds now, CounterTable& into) {
  if (text.size() > kMaxHostCounters)
    return fail(ErrorKind::invalid_input, "{}: {} bytes, more than {}", own.source, text.size(),
                kMaxHostCounters);
  return Reader(fabric, own.source, "", now, into, &own).read(text);
}

std::string write_counter_file(const Fabric& fabric, const CounterTable& table) {
  using When = std::tuple<Nanoseconds, std::uint32_t, std::uint32_t, std::uint32_t>;  // port, source, epoch
  struct Row {
    std::vector<std::pair<CounterKey, std::uint64_t>> counters;
    Temperatures celsius;
  };
  std::map<When, Row> rows;
  for (const CounterSeries& series : table.series())
    for (const CounterPoint& point : series.points)
      rows[{point.at, series.port.value(), series.source, point.epoch}].counters.emplace_back(series.key,
                                                                                              point.value);
  for (const auto& [whose, told] : table.temperatures)
    for (const PortTemperatures& one : told) {
      const auto& [port, source] = whose;
      const When when{one.at, port.value(), source, 0};
      const auto beside = rows.lower_bound(when);  // counters of that moment, whatever their epoch
      const bool is_there = beside != rows.end() && std::get<0>(beside->first) == one.at &&
                            std::get<1>(beside->first) == port.value() &&
                            std::get<2>(beside->first) == source;
      (is_there ? beside->second : rows[when]).celsius = one.celsius;
    }
  const auto epochs = table.epoch_words();
  files::JsonText out;
  files::put(out, "{{\"schema\":\"{}\"}}\n", kCounterSchema);
  for (const auto& [row, values] : rows) {
    files::put(out, "{{\"at\":\"{}\",\"source\":", instant_text(std::get<0>(row)));
    files::put_string(out, table.source_name(std::get<2>(row)));
    files::put(out, ",\"port\":");
    files::put_string(out, fabric.name_of(PortId(std::get<1>(row))));
    const EpochWords& epoch = epochs[std::get<3>(row)];
    for (const auto& [key, word] :
         {std::pair("boot", &epoch.boot), {"cleared", &epoch.cleared}, {"serial", &epoch.serial}}) {
      if (word->empty()) continue;
      files::put(out, ",\"{}\":", key);
      files::put_string(out, *word);
    }
    if (values.celsius.device) files::put(out, ",\"celsius\":{:.1f}", *values.celsius.device);
    if (values.celsius.module) files::put(out, ",\"module_celsius\":{:.1f}", *values.celsius.module);
    if (values.celsius.gpu) files::put(out, ",\"gpu_celsius\":{:.1f}", *values.celsius.gpu);
    files::put(out, ",\"counters\":{{");
    for (const auto& [key, value] : values.counters)
      files::put(out, "{}\"{}\":{}", &key == &values.counters.front().first ? "" : ",", to_string(key),
                 value);
    files::put(out, "}}}}\n");
  }
  return fmt::to_string(out);
}

}  // namespace weft::counters
