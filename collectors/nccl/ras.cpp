#include "collectors/nccl/ras.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::nccl {
namespace {

using files::JsonView;

constexpr JsonLimits kLimits{.bytes = 256'000'000, .depth = 16, .values = 16'000'000};

/// A number that RAS writes as -1 where it does not know.
std::optional<std::uint64_t> known(const JsonView& object, std::string_view name) {
  const auto value = object.find(name);
  if (!value) return std::nullopt;
  const auto number = value->count<std::uint64_t>();
  return number ? std::optional(*number) : std::nullopt;
}

bool is_set(const JsonView& status, std::string_view name) {
  const auto value = status.find(name);
  const auto flag = value ? value->boolean() : Result<bool>(false);
  return flag && *flag;
}

/// NCCL 2.28.9 writes no comma behind `nvml_dev` of a missing rank. Where a value and the next name stand
/// side by side one is put in: no document that is right has such a place.
std::string with_all_commas(std::string_view text) {
  std::string made;
  made.reserve(text.size() + 64);
  bool in_string = false;
  char last = '{';  // that is no space
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string && c == '"' && std::string_view("{[,:").find(last) == std::string_view::npos) made += ',';
    made += c;
    if (in_string && c == '\\' && i + 1 < text.size()) {
      made += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) last = c;
  }
  return made;
}

/// Of all operations that a rank launched.
std::optional<std::uint64_t> launched_of(const JsonView& rank) {
  const auto counts = rank.find("collective_counts");
  if (!counts) return std::nullopt;
  std::uint64_t all = 0;
  for (const char* name : {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"})
    all += known(*counts, name).value_or(0);
  return all;
}

Result<RasRank> read_rank(const JsonView& view, bool missing) {
  RasRank made;
  WEFT_TRY(const auto number, view.need("rank"));
  WEFT_TRY(made.rank, number.count<Rank>());
  if (made.rank > kMaxRank) return number.error("expected at most {}", kMaxRank);
  if (const auto host = view.find("host")) {
    WEFT_TRY(const auto name, host->text());
    if (name != "unknown") made.host = name;
  }
  made.pid = known(view, "pid");
  made.launched = launched_of(view);
  if (!missing) return made;
  made.state = RasState::missing;
  if (const auto status = view.find("status")) {
    if (is_set(*status, "unresponsive")) made.state = RasState::unresponsive;
    if (is_set(*status, "considered_dead")) made.state = RasState::dead;
  }
  return made;
}

Result<RasCommunicator> read_communicator(const JsonView& view) {
  RasCommunicator made;
  if (const auto hash = view.find("hash")) {
    WEFT_TRY(made.hash, hash->text());
  }
  made.size = known(view, "size");
  for (const bool missing : {false, true}) {
    const auto list = view.find(missing ? "missing_ranks" : "ranks");
    if (!list) continue;
    WEFT_TRY(auto ranks, files::read_array<RasRank>(
                             *list, [missing](const JsonView& rank) { return read_rank(rank, missing); }));
    made.ranks.insert(made.ranks.end(), ranks.begin(), ranks.end());
  }
  return made;
}

Result<RasReport> read_json(std::string_view text) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  WEFT_TRY(const auto json, files::parse_json(with_all_commas(text), "RAS"));
  const JsonView root(json, "RAS");
  RasReport made;
  if (const auto version = root.find("nccl_version")) {
    WEFT_TRY(made.version, version->text());
  }
  WEFT_TRY(const auto all, root.need("communicators"));
  WEFT_TRY(made.communicators, files::read_array<RasCommunicator>(all, read_communicator));
  return made;
}

/// Takes words off the front of a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    const std::size_t begin = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    const std::size_t end = std::min(rest_.find_first_of(" \t", begin), rest_.size());
    const auto word = rest_.substr(begin, end - begin);
    rest_ = rest_.substr(end);
    return word;
  }
  template <class T>
  std::optional<T> number() {
    const auto word = next();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

class TextReader {
 public:
  Result<RasReport> read(std::string_view text) && {
    bool is_ras = false;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      is_ras = is_ras || line.starts_with("Job summary") || line.starts_with("Communicators...");
      take(line);
      if (report_.processes.size() + ranks_ > kLimits.values)
        return fail(ErrorKind::invalid_input, "RAS: more than {} processes", kLimits.values);
    }
    if (!is_ras)
      return fail(ErrorKind::invalid_input,
                  "RAS: neither its JSON nor its text, which has \"Job summary\" and \"Communicators\"");
    for (auto& [key, communicator] : communicators_) {
      if (const auto size = sizes_.find(group_of(key)); size != sizes_.end())
        communicator.size = size->second;
      join(communicator);
      report_.communicators.push_back(std::move(communicator));
    }
    report_.remarks.emplace_back("RAS answered in text, which tells less than its JSON (NCCL 2.28.7 on)");
    return std::move(report_);
  }

 private:
  static std::string group_of(std::string_view key) { return std::string(key.substr(0, key.find('-'))); }

  void take(std::string_view line) {
    Words words(line);
    const auto first = words.next();
    if (first == "DEAD" && words.rest().empty()) {
      state_ = RasState::dead;
    } else if (first == "INCOMPLETE" && words.rest().empty()) {
      state_ = RasState::unresponsive;
    } else if (first.starts_with("#") && first.find('-') != first.npos) {
      state_.reset();
      current_ = std::string(first.substr(1));
      const auto hash = words.next();
      if (hash.size() > 2) communicators_[current_].hash = outside_text(hash.substr(1, hash.size() - 2));
    } else if (first == "Process" && state_) {
      take_process(words);
    } else if (first == "Rank" && !current_.empty()) {
      take_rank(words);
    } else if (first == "The" && !current_.empty() && words.next() == "missing") {
      take_missing(words);
    } else {
      take_row(line);
    }
  }

  void take_process(Words& words) {  // Process 3487984 on node 172.16.64.213 managing GPU 5
    const auto pid = words.number<std::uint64_t>();
    if (!pid || words.next() != "on" || words.next() != "node") return;
    report_.processes.push_back({outside_text(words.next()), *pid, *state_});
  }
  void take_rank(Words& words) {  // Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210
    const auto rank = words.number<Rank>();
    const std::size_t by = words.rest().find("process ");
    if (!rank || *rank > kMaxRank || by == words.rest().npos) return;
    Words after(words.rest().substr(by + 8));
    const auto pid = after.number<std::uint64_t>();
    if (!pid || after.next() != "on" || after.next() != "node") return;
    communicators_[current_].ranks.push_back({*rank, outside_text(after.next()), pid, RasState::answers});
    ++ranks_;
  }
  void take_missing(Words& words) {  // The missing rank: 21 (ranks: 21, 22)
    words.next();
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (word.ends_with(',')) word.remove_suffix(1);
      const auto rank = Words(word).number<Rank>();
      if (!rank || *rank > kMaxRank) return;
      communicators_[current_].ranks.push_back({*rank, {}, std::nullopt, RasState::missing});
      ++ranks_;
    }
  }
  /// Of the table of groups: number, communicators, nodes, ranks a node, ranks a communicator, ranks, status.
  void take_row(std::string_view line) {
    Words words(line);
    const auto group = words.number<std::uint64_t>();
    for (int i = 0; group && i < 3; ++i) words.next();
    const auto size = words.number<std::uint64_t>();
    if (group && size && words.number<std::uint64_t>() && !words.next().empty())
      sizes_[std::to_string(*group)] = *size;
  }

  /// Text names missing ranks and silent processes apart: as many of both are the same ones.
  void join(RasCommunicator& communicator) {
    std::vector<RasRank*> missing;
    for (RasRank& rank : communicator.ranks)
      if (rank.state == RasState::missing) missing.push_back(&rank);
    const auto dead = std::ranges::count(report_.processes, RasState::dead, &RasProcess::state);
    const bool all_dead = static_cast<std::size_t>(dead) == report_.processes.size();
    if (missing.empty() || missing.size() != report_.processes.size()) return;
    for (RasRank* rank : missing) rank->state = all_dead ? RasState::dead : RasState::unresponsive;
    if (missing.size() != 1) return;
    missing.front()->host = report_.processes.front().host;
    missing.front()->pid = report_.processes.front().pid;
  }

  RasReport report_;
  std::optional<RasState> state_;
  std::string current_;
  std::map<std::string, RasCommunicator> communicators_;  // by "0-0"
  std::map<std::string, std::uint64_t> sizes_;            // of a communicator, by group
  std::size_t ranks_ = 0;
};

}  // namespace

Result<RasReport> parse_ras(std::string_view text) {
  if (text.size() > kLimits.bytes)
    return fail(ErrorKind::invalid_input, "RAS: {} bytes: expected {} at most", text.size(), kLimits.bytes);
  // JSON begins a line; what stands before are answers to commands, of a line each.
  std::string_view rest = text;
  for (int lines = 0; lines < 4 && !rest.empty(); ++lines) {
    const std::size_t begin = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
    if (begin < rest.size() && rest[begin] == '{') return read_json(rest.substr(begin));
    const std::size_t end = rest.find('\n', begin);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return TextReader().read(text);
}

}  // namespace weft::nccl
