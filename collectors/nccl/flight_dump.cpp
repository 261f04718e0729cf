#include "collectors/nccl/flight_dump.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>

#include "collectors/nccl/dump_tree.hpp"
#include "collectors/nccl/proxy_waits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::nccl {
namespace {

using Kind = DumpValue::Kind;

constexpr std::size_t kMaxGroups = 4096;
constexpr std::size_t kMaxOperations = 100'000;
constexpr std::size_t kMaxName = 256;  // bytes that are kept of a name
constexpr std::uint64_t kKnownMinor = 10;
constexpr std::uint64_t kMinMinor = 2;
constexpr std::array<std::string_view, 3> kStates{"scheduled", "started", "completed"};  // of EntryState
/// The watchdog looks at what is under way each 100 ms (ProcessGroupNCCL, kWatchdogThreadSleepMillis).
constexpr std::int64_t kMaxUnretired = 2'000'000'000;

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string kept(std::string_view text) { return outside_text(text.substr(0, kMaxName)); }

/// "[0, 1, 2]", as Python writes a list; absent: it is none, or has ranks that cannot be.
std::optional<std::vector<Rank>> ranks_in(std::string_view text) {
  std::vector<Rank> ranks;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    const auto rank = number_in<Rank>(item);
    if (!rank || *rank > kMaxRank) return std::nullopt;
    ranks.push_back(*rank);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return ranks;
}

/// A walk through a dump: it ends where something is wrong, or where too many values were looked at.
struct Walk {
  const DumpTree& tree;
  std::string why = {};  // it is wrong
  std::size_t looked_at = 0;

  bool goes_on() { return ++looked_at <= kMaxDumpValues && why.empty(); }
  bool refuse(const char* member, const char* expected) {
    if (why.empty()) why = fmt::format("{}: expected {}", member, expected);
    return false;
  }
};

/// Process groups by their names.
class Groups {
 public:
  Groups(Walk& walk, FlightDump& dump) : walk_(walk), dump_(dump) {}

  void take(const DumpValue& groups) {
    walk_.tree.members(groups, [&](const DumpValue& key, const DumpValue& about) {
      std::string_view name = key.text(), description;
      std::optional<std::vector<Rank>> ranks;
      walk_.tree.members(about, [&](const DumpValue& what, const DumpValue& value) {
        if (what.text() == "name") name = value.text();
        if (what.text() == "desc") description = value.text();
        if (what.text() == "ranks") ranks = read_ranks(value);
        return walk_.goes_on();
      });
      const std::uint32_t group = number_of(name, description);
      if (walk_.why.empty() && !ranks)
        dump_.remarks.push_back(fmt::format("of process group {} no ranks are told", kept(name)));
      if (walk_.why.empty() && ranks) {
        std::ranges::sort(*ranks);
        ranks->erase(std::ranges::unique(*ranks).begin(), ranks->end());
        dump_.groups[group].ranks = std::move(*ranks);
      }
      return walk_.goes_on();
    });
  }

  std::uint32_t number_of(std::string_view name, std::string_view description) {
    if (last_ < dump_.groups.size() && last_name_ == name) return last_;
    const auto [at, is_new] =
        by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(dump_.groups.size()));
    if (is_new) {
      if (dump_.groups.size() == kMaxGroups)
        walk_.why = fmt::format("more than {} process groups", kMaxGroups);
      dump_.groups.push_back({kept(name), kept(description), {}});
    }
    last_name_ = at->first;
    return last_ = at->second;
  }

 private:
  std::optional<std::vector<Rank>> read_ranks(const DumpValue& value) {
    if (value.is(Kind::text)) return ranks_in(value.text());
    if (!value.is(Kind::list)) return std::nullopt;
    std::vector<Rank> ranks;
    bool good = true;
    walk_.tree.items(value, [&](const DumpValue& rank) {
      good = rank.is(Kind::whole) && rank.whole >= 0 && rank.whole <= kMaxRank;
      if (good) ranks.push_back(static_cast<Rank>(rank.whole));
      return good && walk_.goes_on();
    });
    return good ? std::optional(std::move(ranks)) : std::nullopt;
  }

  Walk& walk_;
  FlightDump& dump_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::string_view last_name_;
  std::uint32_t last_ = 0xFFFFFFFF;
};

struct RawEntry {
  FlightEntry entry;
  DumpValue group, name, input_sizes, output_sizes, input_types, output_types;
  std::string_view state;
  bool has_retired = false;
};

/// Different operations, each once.
class Operations {
 public:
  Operations(Walk& walk, FlightDump& dump) : walk_(walk), dump_(dump) {}

  std::uint32_t number_of(const RawEntry& raw) {
    const std::uint64_t input = elements_in(raw.input_sizes);
    const std::uint64_t output = elements_in(raw.output_sizes);
    std::uint64_t key = hash_of(raw.name.text(), mix_bits(mix_bits(input + kSplitMixStep) ^ output));
    key = hash_of_items(raw.output_types, mix_bits(hash_of_items(raw.input_types, key)));
    const auto [at, is_new] = by_key_.try_emplace(key, static_cast<std::uint32_t>(dump_.operations.size()));
    if (is_new) {
      if (dump_.operations.size() == kMaxOperations)
        walk_.why = fmt::format("more than {} different operations", kMaxOperations);
      dump_.operations.push_back(
          {kept(raw.name.text()), input, output, joined(raw.input_types), joined(raw.output_types)});
    }
    return at->second;
  }

 private:
  /// Elements of all tensors; of numbers that no tensor has, what is left of them in 64 bits.
  std::uint64_t elements_in(const DumpValue& sizes) {
    std::uint64_t all = 0;
    walk_.tree.items(sizes, [&](const DumpValue& tensor) {
      std::uint64_t of_tensor = 1;
      walk_.tree.items(tensor, [&](const DumpValue& size) {
        of_tensor *= size.is(Kind::whole) ? static_cast<std::uint64_t>(size.whole) : 0;
        return walk_.goes_on();
      });
      all += of_tensor;
      return walk_.goes_on();
    });
    return all;
  }
  static std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // FNV-1a
    return mix_bits(hash);
  }
  std::uint64_t hash_of_items(const DumpValue& texts, std::uint64_t seed) {
    walk_.tree.items(texts, [&](const DumpValue& text) {
      seed = hash_of(text.text(), seed);
      return walk_.goes_on();
    });
    return seed;
  }
  std::string joined(const DumpValue& texts) {
    std::string all;
    std::string_view last;
    walk_.tree.items(texts, [&](const DumpValue& text) {
      if (text.text() != last) all += (all.empty() ? "" : ", ") + std::string(text.text());
      last = text.text();
      return all.size() < kMaxName && walk_.goes_on();
    });
    return kept(all);
  }

  Walk& walk_;
  FlightDump& dump_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
};

template <class T>
void read_whole(Walk& walk, const char* member, const DumpValue& value, T& into) {
  if (value.is(Kind::none)) return;  // a time that is not known
  if (!value.is(Kind::whole) || value.whole < 0)
    walk.refuse(member, "a whole number");
  else
    into = static_cast<T>(value.whole);
}

void take_member(Walk& walk, std::string_view key, const DumpValue& value, RawEntry& raw) {
  FlightEntry& entry = raw.entry;
  if (key == "collective_seq_id") {
    read_whole(walk, "collective_seq_id", value, entry.collective);
  } else if (key == "p2p_seq_id") {
    read_whole(walk, "p2p_seq_id", value, entry.p2p);
  } else if (key == "record_id") {
    read_whole(walk, "record_id", value, entry.record);
  } else if (key == "time_created_ns") {
    read_whole(walk, "time_created_ns", value, entry.created);
  } else if (key == "time_discovered_started_ns") {
    read_whole(walk, "time_discovered_started_ns", value, entry.started);
  } else if (key == "time_discovered_completed_ns") {
    read_whole(walk, "time_discovered_completed_ns", value, entry.completed);
  } else if (key == "timeout_ms") {
    read_whole(walk, "timeout_ms", value, entry.timeout_ms);
  } else if (key == "duration_ms") {
    constexpr double kMaxDuration = 1e12;  // milliseconds: 30 years
    const double ms = value.is(Kind::number)  ? value.number
                      : value.is(Kind::whole) ? static_cast<double>(value.whole)
                                              : 0;
    if (ms > 0 && ms < kMaxDuration) entry.duration = static_cast<std::int64_t>(ms * 1e6);
  } else if (key == "state") {
    raw.state = value.text();
  } else if (key == "profiling_name") {
    raw.name = value;
  } else if (key == "process_group") {
    raw.group = value;
  } else if (key == "input_sizes") {
    raw.input_sizes = value;
  } else if (key == "output_sizes") {
    raw.output_sizes = value;
  } else if (key == "input_dtypes") {
    raw.input_types = value;
  } else if (key == "output_dtypes") {
    raw.output_types = value;
  } else if (key == "is_p2p" || key == "retired") {
    if (!value.is(Kind::truth)) return static_cast<void>(walk.refuse("is_p2p, retired", "true or false"));
    (key == "retired" ? entry.retired : entry.is_p2p) = value.whole != 0;
    raw.has_retired = raw.has_retired || key == "retired";
  }
}

/// False where something in it is wrong.
bool read_entry(Walk& walk, const DumpValue& value, RawEntry& raw) {
  if (!value.is(Kind::dict)) return walk.refuse("entry", "a dictionary");
  bool has_sequence = false;
  walk.tree.members(value, [&](const DumpValue& key, const DumpValue& member) {
    has_sequence = has_sequence || key.text() == "collective_seq_id";
    take_member(walk, key.text(), member, raw);
    return walk.goes_on();
  });
  if (!walk.why.empty()) return false;
  if (!has_sequence) return walk.refuse("collective_seq_id", "one: it is missing");
  const auto state = std::ranges::find(kStates, raw.state);
  if (state == kStates.end()) return walk.refuse("state", "scheduled, started or completed");
  FlightEntry& entry = raw.entry;
  entry.state = static_cast<EntryState>(state - kStates.begin());
  entry.in_call = entry.state == EntryState::completed && raw.has_retired && !entry.retired &&
                  entry.completed - entry.created > kMaxUnretired;
  return true;
}

bool take_group(Walk& walk, Groups& groups, RawEntry& raw) {
  std::string_view name, description;
  std::size_t at = 0;
  walk.tree.items(raw.group, [&](const DumpValue& part) {
    (at == 0 ? name : description) = part.text();
    return ++at < 2 && walk.goes_on();
  });
  if (raw.group.is(Kind::text)) name = raw.group.text(), at = 1;
  if (at == 0) return walk.refuse("process_group", "name and description");
  raw.entry.group = groups.number_of(name, description);
  return walk.why.empty();
}

Result<void> take_version(const DumpValue& version, FlightDump& dump) {
  const std::string_view text = version.text();
  const std::size_t dot = text.find('.');
  const auto major = number_in<std::uint64_t>(text.substr(0, dot));
  const auto minor = dot == text.npos ? std::nullopt : number_in<std::uint64_t>(text.substr(dot + 1));
  dump.version = kept(text);
  if (!major || !minor)
    return fail(ErrorKind::invalid_input, "no Flight Recorder dump: it has no 'version', as \"2.4\"");
  if (*major != 2 || *minor < kMinMinor)
    return fail(ErrorKind::invalid_input, "version {}: 2.{} to 2.{} are read", dump.version, kMinMinor,
                kKnownMinor);
  if (*minor > kKnownMinor)
    dump.remarks.push_back(fmt::format("version {} is newer than 2.{}: what it added is passed over",
                                       dump.version, kKnownMinor));
  return {};
}

/// NCCLX: texts of JSON within the dump. One text may be referred to many times.
void take_proxies(Walk& walk, const DumpValue& state, std::vector<ProxyState>& proxies) {
  std::size_t left = kMaxDumpBytes;
  bool is_whole = true;
  walk.tree.members(state, [&](const DumpValue& name, const DumpValue& communicator) {
    is_whole = proxies.size() < kMaxGroups;
    if (!is_whole) return false;
    ProxyState& made = proxies.emplace_back(kept(name.text()));
    walk.tree.members(communicator, [&](const DumpValue& key, const DumpValue& value) {
      const std::string_view text = value.text();
      if (key.text() == "rank") {
        made.rank = number_in<Rank>(text);
        if (value.is(Kind::whole)) made.rank = number_in<Rank>(std::to_string(value.whole));
      } else if (key.text() == "PT_activeOps") {
        made.is_whole = text.size() <= left && read_active(text, made.active);
        left -= std::min(left, text.size());
      }
      return walk.goes_on();
    });
    if (made.rank > kMaxRank) made.rank.reset();
    return walk.goes_on();
  });
  for (ProxyState& made : proxies) made.is_whole = made.is_whole && is_whole;
}

Result<FlightDump> decode(const DumpTree& tree) {
  if (!tree.root.is(Kind::dict))
    return fail(ErrorKind::invalid_input, "no Flight Recorder dump: its root is no dictionary");
  Walk walk{tree};
  DumpValue entries, group_list, state, version;
  tree.members(tree.root, [&](const DumpValue& key, const DumpValue& value) {
    if (key.text() == "entries") entries = value;
    if (key.text() == "pg_config") group_list = value;
    if (key.text() == "nccl_comm_state") state = value;
    if (key.text() == "version") version = value;
    return walk.goes_on();
  });
  FlightDump dump;
  WEFT_TRY_VOID(take_version(version, dump));
  Groups groups(walk, dump);
  groups.take(group_list);
  if (!entries.is(Kind::list) && !entries.is(Kind::none))
    return fail(ErrorKind::invalid_input, "'entries' is no list");
  dump.entries.reserve(tree.size(entries));
  Operations operations(walk, dump);
  tree.items(entries, [&](const DumpValue& entry) {
    RawEntry raw;
    if (read_entry(walk, entry, raw) && take_group(walk, groups, raw))
      raw.entry.operation = operations.number_of(raw);
    if (walk.why.empty())
      dump.entries.push_back(raw.entry);
    else
      walk.why = fmt::format("entries[{}]: {}", dump.entries.size(), walk.why);
    return walk.goes_on();
  });
  take_proxies(walk, state, dump.proxies);
  if (walk.looked_at > kMaxDumpValues)
    return fail(ErrorKind::invalid_input, "it refers to its values more than {} times", kMaxDumpValues);
  if (!walk.why.empty()) return fail(ErrorKind::invalid_input, "{}", walk.why);
  return dump;
}

}  // namespace

std::string to_string(const Operation& operation) {
  std::string_view name = operation.name;
  if (const std::size_t colon = name.find(':'); colon != name.npos) name.remove_prefix(colon + 1);
  return fmt::format("{} of {} {}", name, operation.input_elements,
                     operation.input_type.empty() ? "elements" : operation.input_type);
}

Result<FlightDump> parse_flight_dump(std::string_view text) {
  DumpTree scratch;
  return parse_flight_dump(text, scratch);
}

Result<FlightDump> parse_flight_dump(std::string_view text, DumpTree& scratch) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return fail(ErrorKind::invalid_input, "it is empty");
  const bool is_json = text[begin] == '{';
  if (!is_json && text[0] != '\x80')
    return fail(ErrorKind::invalid_input, "no Flight Recorder dump: neither pickle nor JSON");
  WEFT_TRY_VOID(is_json ? read_json_dump(text, scratch) : read_pickle(text, scratch));
  return decode(scratch);
}

std::optional<Rank> rank_of_file(std::string_view name) {
  for (const std::string_view ending : {".json", ".pickle", ".pkl"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  std::size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  const auto rank = number_in<Rank>(name.substr(begin));
  return rank && *rank <= kMaxRank ? rank : std::nullopt;
}

}  // namespace weft::nccl
