#include "collectors/compare/table_layout.hpp"

#include <algorithm>
#include <array>

#include "topology/base/outside_text.hpp"

namespace weft::compare {
namespace {

using Names = std::vector<std::string>;

constexpr double kMicrosecond = 1e-6;
constexpr const char* kNoOperation = "none";
constexpr std::size_t kMaxTitle = 60;    // bytes: the longest of these tools has 40
constexpr std::size_t kMaxSetting = 20;  // bytes: names of MPI types, counts

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& known) {
  return std::ranges::find(known, name) != known.end();
}

tl::unexpected<Error> unknown_column(Tool tool, std::string_view name) {
  return fail(ErrorKind::invalid_input, "a table of {} with a column that is not known: '{}'",
              to_string(tool), outside_text(name.substr(0, kMaxTitle)));
}

Result<TableLayout> checked(TableLayout layout) {
  if (!layout.values.empty()) return layout;
  return fail(ErrorKind::invalid_input,
              "a table of {} without a column that is compared (time, latency or bandwidth)",
              to_string(layout.tool));
}

/// Names of several words put together.
template <class EndsName>
Names joined_names(const Words& words, EndsName ends_name) {
  Names names;
  bool goes_on = false;
  for (const std::string_view word : words) {
    if (goes_on)
      names.back().append(" ").append(word);
    else
      names.emplace_back(word);
    goes_on = !ends_name(word);
  }
  return names;
}

/// src/common.cu (2.0 to 2.16) and writeResultHeader of src/util.cu of nccl-tests: the columns of one
/// placement after those of the other. `error` (to 2.12) is the largest deviation, which sums of
/// floating-point numbers always have: only the line "Out of bounds values" tells that it is too large. A
/// time stamp is two words. alltoall (src/alltoall.cu of 2021) and hypercube print no operation under
/// `redop`.
Result<TableLayout> nccl_layout(const Words& names) {
  constexpr auto kPassedOver = std::to_array<std::string_view>(
      {"count", "algbw", "busbw", "error", "i_min", "i_max", "i_p99", "i_cv%"});
  constexpr auto kPlacements = std::to_array<std::string_view>({"out-of-place", "in-place"});
  TableLayout layout{.tool = Tool::nccl_tests};
  for (const std::string_view name : names) {
    const std::size_t at = layout.columns++;
    if (at == 0) continue;
    if (name == "type" || name == "redop" || name == "root") {
      layout.factors.push_back({at, name == "root" ? "root " : "", name == "root" ? "-1" : kNoOperation});
      if (name == "redop") layout.may_be_blank = at;
    } else if ((name == "time" || name == "cputime") && layout.values.size() < kPlacements.size()) {
      Names words{std::string(kPlacements[layout.values.size()])};
      if (name == "cputime") words.emplace_back(name);
      layout.values.push_back({at, Metric::time, kMicrosecond, std::move(words)});
    } else if (name == "#wrong" && !layout.values.empty()) {
      layout.values.back().errors = at;
    } else if (name == "timestamp") {
      ++layout.columns;
    } else if (!is_one_of(name, kPassedOver)) {
      return unknown_column(layout.tool, name);
    }
  }
  return checked(std::move(layout));
}

/// RESULT_FMT and its kin in src/perftest_parameters.h. MB/sec are 2^20 bytes a second, Gb/sec 10^9 bits:
/// format_factor in print_report_bw of src/perftest_resources.c (0x100000 and 125000000 bytes). t_typical is
/// the median.
Result<TableLayout> perftest_layout(const Words& words) {
  constexpr double kMebibytes = 8.0 * 1024 * 1024;
  constexpr double kGigabits = 1e9;
  constexpr auto kPassedOver = std::to_array<std::string_view>(
      {"#iterations", "BW peak[MB/sec]", "BW peak[MiB/sec]", "BW peak[Gb/sec]", "MsgRate[Mpps]",
       "t_min[usec]", "t_max[usec]", "t_stdev[usec]", "99% percentile[usec]", "99.9% percentile[usec]",
       "CPU_Util[%]"});
  TableLayout layout{.tool = Tool::perftest};
  std::optional<TableLayout::Measured> average;
  const auto ends_name = [](std::string_view word) { return word.starts_with('#') || word.ends_with(']'); };
  for (const std::string& name : joined_names(words, ends_name)) {
    const std::size_t at = layout.columns++;
    if (at == 0) continue;
    if (name == "BW average[Gb/sec]") {
      layout.values.push_back({at, Metric::bandwidth, kGigabits, {}});
    } else if (name == "BW average[MB/sec]" || name == "BW average[MiB/sec]") {
      layout.values.push_back({at, Metric::bandwidth, kMebibytes, {}});
    } else if (name == "t_typical[usec]") {
      layout.values.push_back({at, Metric::time, kMicrosecond, {}});
    } else if (name == "t_avg[usec]") {
      average = {at, Metric::time, kMicrosecond, {"average"}};
    } else if (!is_one_of(name, kPassedOver)) {
      return unknown_column(layout.tool, name);
    }
  }
  if (layout.values.empty() && average) layout.values.push_back(*average);
  return checked(std::move(layout));
}

/// The headers that the benchmarks and util/osu_util_mpi.c of the OSU micro-benchmarks print. MB/s are 10^6
/// bytes a second ("size / 1e6" in osu_bw.c).
Result<TableLayout> osu_layout(const Words& words) {
  constexpr double kMegabytes = 8e6;
  constexpr auto kTimes = std::to_array<std::string_view>({"Latency (us)", "Avg Latency(us)"});
  constexpr auto kRates = std::to_array<std::string_view>({"Bandwidth (MB/s)", "MB/s"});
  constexpr auto kWhole =
      std::to_array<std::string_view>({"Size", "Iterations", "Validation", "MB/s", "Messages/s"});
  constexpr auto kPassedOver =
      std::to_array<std::string_view>({"Min Latency(us)", "Max Latency(us)", "Iterations", "Messages/s"});
  TableLayout layout{.tool = Tool::osu};
  std::optional<std::size_t> validation;
  const auto ends_name = [&](std::string_view word) {
    return word.ends_with(')') || is_one_of(word, kWhole);
  };
  for (const std::string& name : joined_names(words, ends_name)) {
    const std::size_t at = layout.columns++;
    if (at == 0) continue;
    if (is_one_of(name, kTimes)) {
      layout.values.push_back({at, Metric::time, kMicrosecond, {}});
    } else if (is_one_of(name, kRates)) {
      layout.values.push_back({at, Metric::bandwidth, kMegabytes, {}});
    } else if (name == "Validation") {
      validation = at;
    } else if (!is_one_of(name, kPassedOver)) {
      return unknown_column(layout.tool, name);
    }
  }
  for (auto& value : layout.values) value.errors = validation;
  return checked(std::move(layout));
}

/// "all_reduce" of "./build/all_reduce_perf"; empty: no program of nccl-tests.
std::string_view nccl_program(std::string_view word) {
  word.remove_prefix(word.find_last_of('/') + 1);  // npos + 1 is 0
  if (word.ends_with("_mpi")) word.remove_suffix(4);
  constexpr std::string_view kEnd = "_perf";
  if (!word.ends_with(kEnd) || word.size() > kMaxTitle) return {};
  word.remove_suffix(kEnd.size());
  const bool plain = std::ranges::all_of(word, [](char c) { return ('a' <= c && c <= 'z') || c == '_'; });
  return plain ? word : std::string_view();
}

/// The word after "NAME :"; empty: the line has none.
std::string_view word_after(std::string_view line, std::string_view name) {
  const auto at = line.find(name);
  if (at == std::string_view::npos) return {};
  const auto rest = words_of(line.substr(at + name.size()));
  return rest.size() > 1 && rest[0] == ":" ? rest[1].substr(0, kMaxSetting) : std::string_view();
}

/// ctx_print_test_info of src/perftest_parameters.c.
std::optional<Announcement> perftest_announced(std::string_view line, const Words& words) {
  if (const auto count = word_after(line, "Number of qps"); !count.empty())
    return Announcement{Tool::perftest, Topic::qps, count == "1" ? "" : outside_text(count) + " QPs"};
  if (const auto type = word_after(line, "Connection type"); !type.empty())
    return Announcement{Tool::perftest, Topic::connection, type == "RC" ? "" : outside_text(type)};
  if (words[0] == "Mtu")
    if (const auto mtu = word_after(line, "Mtu"); !mtu.empty())
      return Announcement{Tool::perftest, Topic::mtu, outside_text(mtu)};
  if (words.size() < 3 || words.back() != "Test" ||
      (words[words.size() - 2] != "BW" && words[words.size() - 2] != "Latency"))
    return std::nullopt;
  std::string title;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) title.append(i == 0 ? "" : " ").append(words[i]);
  if (title.size() > kMaxTitle) return std::nullopt;
  return Announcement{Tool::perftest, Topic::title, outside_text(title)};
}

/// The memory of "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)" (util/osu_util_mpi.c).
std::optional<Announcement> buffers_announced(const Words& words) {
  std::vector<std::string> memories;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "on") memories.push_back(outside_text(words[i + 1].substr(0, kMaxSetting)));
  if (memories.size() != 2) return std::nullopt;
  const bool usual = memories[0] == "HOST" && memories[1] == "HOST";
  return Announcement{Tool::osu, Topic::buffers, usual ? "" : memories[0] + " to " + memories[1]};
}

std::optional<Announcement> osu_announced(std::string_view line, const Words& words) {
  constexpr std::string_view kTest = " Test";
  if (line.starts_with("# OSU ") && line.find(kTest) < kMaxTitle + kTest.size())
    return Announcement{Tool::osu, Topic::title, outside_text(line.substr(2, line.find(kTest) - 2))};
  if (line.starts_with("# Send Buffer on ")) return buffers_announced(words);
  if (!line.starts_with("# Datatype: ") || words.size() != 3) return std::nullopt;
  auto type = words[2].substr(0, kMaxSetting);
  if (type.ends_with('.')) type.remove_suffix(1);
  return Announcement{Tool::osu, Topic::datatype, type == "MPI_CHAR" ? "" : outside_text(type)};
}

/// "# nThread 1 nGpus 1 ... graph: 0", then "#  Rank  0 ..." for each; and whatever names the program.
std::optional<Announcement> nccl_announced(const Words& words) {
  if (words[0] == "#" && words.size() > 1 && words[1] == "Rank")
    return Announcement{Tool::nccl_tests, Topic::ranks, {}};
  if (words[0] == "#" && words.size() > 1 && words[1] == "nThread") {
    const auto at = std::ranges::find(words, "graph:");
    const auto graphs = words.end() - at > 1 ? at[1].substr(0, kMaxSetting) : "0";
    return Announcement{Tool::nccl_tests, Topic::graph, graphs == "0" ? "" : "graph " + outside_text(graphs)};
  }
  if (std::ranges::count(words, "concluded:") > 0) return std::nullopt;  // of the job that ended
  for (const std::string_view word : words)
    if (const auto program = nccl_program(word); !program.empty())
      return Announcement{Tool::nccl_tests, Topic::title, std::string(program)};
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Tool tool) {
  switch (tool) {
    case Tool::nccl_tests:
      return "nccl-tests";
    case Tool::perftest:
      return "perftest";
    case Tool::osu:
      return "OSU";
  }
  return "";
}

Words words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Words words;
  for (auto from = line.find_first_not_of(kBlanks); from != std::string_view::npos;) {
    const auto to = std::min(line.find_first_of(kBlanks, from), line.size());
    words.push_back(line.substr(from, to - from));
    from = line.find_first_not_of(kBlanks, to);
  }
  return words;
}

Words without_blank(const TableLayout& layout, Words row) {
  if (row.size() + 1 != layout.columns || layout.may_be_blank.value_or(row.size()) >= row.size()) return row;
  const auto at = row.begin() + static_cast<std::ptrdiff_t>(*layout.may_be_blank);
  if (at->find_first_not_of("+-.0123456789eE") == std::string_view::npos) row.insert(at, kNoOperation);
  return row;
}

std::optional<Result<TableLayout>> table_header(const Words& line) {
  if (line.size() < 2) return std::nullopt;
  if (line[0] == "#bytes") return perftest_layout(line);
  if (line[0] != "#") return std::nullopt;
  const Words names(line.begin() + 1, line.end());
  if (names[0] == "Size") return osu_layout(names);
  if (names[0] == "size" && names.size() > 1 && names[1] == "count") return nccl_layout(names);
  return std::nullopt;
}

std::optional<Announcement> announced_in(std::string_view line, const Words& words) {
  if (words.empty()) return std::nullopt;
  if (auto osu = osu_announced(line, words)) return osu;
  if (auto nccl = nccl_announced(words)) return nccl;
  return line.starts_with('#') ? std::nullopt : perftest_announced(line, words);
}

}  // namespace weft::compare
