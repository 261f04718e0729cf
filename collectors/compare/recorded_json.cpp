#include "collectors/compare/recorded_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "collectors/compare/measured_run.hpp"
#include "collectors/compare/recorded_run.hpp"
#include "collectors/compare/table_layout.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::compare {
namespace {

using files::JsonView;

constexpr double kMicrosecond = 1e-6;
constexpr std::size_t kMaxRows = 20'000;
constexpr std::size_t kMaxWord = 40;  // of a cell
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 60;
constexpr double kPrinted = 1e-6;  // nccl-tests prints six digits behind the point ("%lf")

std::string word(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return outside_text(text.substr(0, kMaxWord));
}

/// The rows of each cell, which may be several: nccl-tests repeats its sizes (-N), and documents of perftest
/// may follow one another.
using Rows = std::map<Cell, std::vector<Value>>;

std::map<Cell, Value> medians_of(Rows rows) {
  std::map<Cell, Value> cells;
  for (auto& [cell, values] : rows) cells.emplace(cell, median_of(std::move(values)));
  return cells;
}

/// The value in a sorted list that a share of it does not exceed, as nccl-tests takes it.
double percentile(const std::vector<double>& sorted, std::size_t percent) {
  return sorted[std::min(sorted.size() - 1, (sorted.size() * percent + 99) / 100 - 1)];
}

/// The document of nccl-tests (src/util.cu: writeDeviceReport, writeBenchmarkLineBody, writePerIterReport).
class NcclDocument {
 public:
  explicit NcclDocument(std::string name) { run_.name = std::move(name); }

  Result<void> take(const JsonView& root) {
    WEFT_TRY_VOID(take_job(root));
    WEFT_TRY(const JsonView rows, root.need("results"));
    WEFT_TRY(const auto count, rows.size());
    if (count > kMaxRows) return rows.error("{} sizes: expected {} at most", count, kMaxRows);
    for (std::size_t i = 0; i < count; ++i) {
      const JsonView row = rows.at(i);
      WEFT_TRY_VOID(take_row(row));
    }
    run_.empty_tables += count == 0;
    if (!root.find("end_time")) run_.remarks.emplace_back("it has no end_time: did its job end early?");
    return {};
  }

  Run finish() && {
    run_.cells = medians_of(std::move(rows_));
    return std::move(run_);
  }

 private:
  Result<void> take_job(const JsonView& root) {
    std::string title;
    if (const auto args = root.find("args"); args && args->size().value_or(0) > 0) {
      const JsonView program = args->at(0);
      WEFT_TRY(const auto text, program.text());
      if (const auto told = announced_in(text, words_of(text)); told && told->topic == Topic::title)
        title = told->text;
    }
    if (title.empty()) run_.remarks.emplace_back("its args do not name the collective");
    work_ = {title.empty() ? std::string(to_string(Tool::nccl_tests)) : title};
    const auto config = root.find("config");
    if (!config) return {};
    // Of each process the first device alone is listed.
    std::uint64_t ranks = 1;
    if (const auto devices = config->find("devices")) {
      WEFT_TRY(ranks, devices->size());
    }
    for (const char* each : {"nthreads", "ngpus"})
      if (const auto number = config->find(each)) {
        WEFT_TRY(const auto count, number->count<std::uint16_t>());
        ranks *= count;
      }
    if (ranks > 0) work_.push_back(fmt::format("{} ranks", ranks));
    if (const auto graph = config->find("graph")) {
      WEFT_TRY(const auto graphs, graph->count<std::uint32_t>());
      if (graphs > 0) work_.push_back(fmt::format("graph {}", graphs));
    }
    return {};
  }

  Result<void> take_row(const JsonView& row) {
    WEFT_TRY(const JsonView size, row.need("size"));
    WEFT_TRY(const auto bytes, size.count<std::uint64_t>());
    if (bytes > kMaxSize) return size.error("expected at most 2^60");
    Cell cell{.work = work_, .size = Bytes(static_cast<std::int64_t>(bytes)), .metric = Metric::time};
    for (const auto& [key, prefix, usual] :
         {std::array{"type", "", "none"}, std::array{"redop", "", "none"}, std::array{"root", "root ", "-1"}})
      if (const auto factor = row.find(key)) {
        WEFT_TRY(const auto text, factor->text());
        const auto told = word(text);
        if (told != usual && !told.empty()) cell.work.push_back(prefix + told);
      }
    for (const auto& [key, placement] :
         {std::pair("out_of_place", "out-of-place"), std::pair("in_place", "in-place")})
      if (const auto body = row.find(key)) {
        Cell placed = cell;
        placed.work.emplace_back(placement);
        WEFT_TRY_VOID(take_body(*body, row.find(std::string(key) + "_per_iter"), std::move(placed)));
      }
    return {};
  }

  Result<void> take_body(const JsonView& body, const std::optional<JsonView>& iterations, Cell cell) {
    const auto wrong = body.find("nwrong");
    if (wrong) {
      WEFT_TRY(const double count, wrong->number());
      if (count != 0) {
        ++run_.wrong_rows;
        return remark("wrong results: they do not count");
      }
    }
    const auto cpu = body.find("cpu_time");
    const auto time = cpu ? cpu : body.find("time");
    if (!time) return body.error("neither 'time' nor 'cpu_time'");
    if (cpu) cell.work.emplace_back("cputime");
    const auto number = time->number();
    if (!number || !put(cell, *number))
      WEFT_TRY_VOID(remark("a time that is no number above zero does not count"));
    if (iterations) return take_iterations(*iterations, cell);
    return {};
  }

  Result<void> take_iterations(const JsonView& iterations, const Cell& cell) {
    const auto times = iterations.find("times_us");
    if (!times) return {};
    std::vector<double> sorted;
    WEFT_TRY(const auto count, times->size());
    for (std::size_t i = 0; i < count; ++i) {
      const JsonView time = times->at(i);
      WEFT_TRY(const double number, time.number());
      sorted.push_back(number);
    }
    std::ranges::sort(sorted);
    for (const auto& [percent, least] :
         {std::pair(std::size_t{95}, kMinForPercentile95), std::pair(std::size_t{99}, kMinForPercentile99)}) {
      if (sorted.size() < least) {
        WEFT_TRY_VOID(remark(fmt::format("fewer than {} iterations: no {}th percentile", least, percent)));
        continue;
      }
      Cell of_percentile = cell;
      of_percentile.work.push_back(fmt::format("{}th percentile", percent));
      put(of_percentile, percentile(sorted, percent));
    }
    return {};
  }

  bool put(const Cell& cell, double micros) {
    if (!is_comparable(micros * kMicrosecond)) return false;
    rows_[cell].push_back({micros * kMicrosecond, kPrinted / micros});
    return true;
  }

  Result<void> remark(std::string text) {
    if (std::ranges::find(run_.remarks, text) == run_.remarks.end()) run_.remarks.push_back(std::move(text));
    return {};
  }

  Run run_;
  Rows rows_;
  std::vector<std::string> work_;
};

/// A line `name: value,` of perftest's document, with quotes or without; absent: another line.
std::optional<std::pair<std::string_view, std::string_view>> member_of(std::string_view line) {
  const auto bare = [](std::string_view text, std::string_view ends) {
    const auto from = text.find_first_not_of(ends);
    if (from == std::string_view::npos) return std::string_view();
    return text.substr(from, text.find_last_not_of(ends) + 1 - from);
  };
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto name = bare(line.substr(0, colon), " \t\r\",{");
  if (name.empty()) return std::nullopt;
  return std::pair(name, bare(line.substr(colon + 1), " \t\r\",}"));
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// One unit of the last digit of a number as it is written.
double last_digit(std::string_view text) {
  const auto point = text.find('.');
  return point == std::string_view::npos ? 1 : std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

/// The document of perftest (print_report_bw and print_report_lat of src/perftest_resources.c). It does not
/// tell the unit of bandwidths: rate and size of messages do.
class PerftestDocument {
 public:
  explicit PerftestDocument(std::string name) { run_.name = std::move(name); }

  Result<Run> read(std::string_view text) && {
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      if (const auto member = member_of(text.substr(0, end)))
        WEFT_TRY_VOID(take(member->first, member->second));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    WEFT_TRY_VOID(end_row());
    if (rows_.empty())
      return fail(ErrorKind::invalid_input,
                  "{}: no results: expected a document of nccl-tests (-J) or perftest (--out_json)",
                  run_.name);
    run_.cells = medians_of(std::move(rows_));
    return std::move(run_);
  }

 private:
  Result<void> take(std::string_view name, std::string_view value) {
    if (name == "test") {  // another document begins
      WEFT_TRY_VOID(end_row());
      qps_ = connection_ = {};
      title_ = word(value);
    }
    if (name == "Number_of_qps" && value != "1") qps_ = word(value) + " QPs";
    if (name == "Connection_type" && value != "RC") connection_ = word(value);
    if (name == "Mtu") run_.mtus.insert(word(value));
    if (name == "MsgSize") {
      WEFT_TRY_VOID(end_row());
      size_ = value;
    }
    if (name == "BW_average") bandwidth_ = value;
    if (name == "MsgRate") rate_ = value;
    if (name == "t_typical") typical_ = value;
    return {};
  }

  /// "RDMA_Write_BW_Test" as the table's title has it: "RDMA_Write BW".
  std::string title() const {
    std::string text = title_;
    for (const auto& [joined, apart] :
         {std::pair<std::string_view, std::string_view>("_Bidirectional", " Bidirectional"),
          {"_Post_List", " Post List"},
          {"_forwarding", " forwarding"},
          {"_Multicast", " Multicast"}})
      if (const auto at = text.find(joined); at != std::string::npos) text.replace(at, joined.size(), apart);
    for (const std::string_view ending : {"_Test", "_BW", "_Latency"})
      if (text.ends_with(ending)) {
        text.resize(text.size() - ending.size());
        if (ending != "_Test") return text + " " + std::string(ending.substr(1));
      }
    return text.empty() ? std::string(to_string(Tool::perftest)) : text;
  }

  Result<void> end_row() {
    const auto size = number_of(size_);
    if (size && *size >= 0 && *size <= static_cast<double>(kMaxSize)) {
      Cell cell{.work = {title()}, .size = Bytes(static_cast<std::int64_t>(*size)), .metric = Metric::time};
      for (const std::string& setting : {qps_, connection_})
        if (!setting.empty()) cell.work.push_back(setting);
      if (const auto typical = number_of(typical_))
        put(cell, *typical * kMicrosecond, last_digit(typical_) / *typical);
      if (const auto average = number_of(bandwidth_)) {
        cell.metric = Metric::bandwidth;
        WEFT_TRY(const double unit, unit_of(*average, *size));
        put(cell, *average * unit, last_digit(bandwidth_) / *average);
      }
      if (rows_.size() > kMaxRows)
        return fail(ErrorKind::invalid_input, "{}: more than {} sizes", run_.name, kMaxRows);
    }
    size_ = bandwidth_ = rate_ = typical_ = {};
    return {};
  }

  /// Bits per second: of Gb/sec or of 2^20 bytes a second, as rate and size of messages say.
  Result<double> unit_of(double average, double size) const {
    constexpr double kMebibytes = 8.0 * 1024 * 1024, kGigabits = 1e9, kMessages = 1e6;
    const auto rate = number_of(rate_);
    const double bits = rate ? *rate * kMessages * size * 8 : 0;
    if (!(bits > 0) || !(average > 0))
      return fail(
          ErrorKind::invalid_input,
          "{}: {} bytes: MsgRate does not tell the unit of BW_average (MB/sec or Gb/sec): compare its "
          "table instead",
          run_.name, size);
    const auto off = [&](double unit) { return std::abs(std::log(average * unit / bits)); };
    return off(kGigabits) < off(kMebibytes) ? kGigabits : kMebibytes;
  }

  void put(const Cell& cell, double number, double grain) {
    if (is_comparable(number))
      rows_[cell].push_back({number, grain});
    else
      run_.remarks.emplace_back("a value that is not above zero does not count");
  }

  Run run_;
  Rows rows_;
  std::string title_, qps_, connection_;
  std::string_view size_, bandwidth_, rate_, typical_;
};

/// A sweep's document: its flows, and when it was written.
Result<Run> read_diagnosis(const std::string& name, const JsonView& root, std::string_view text) {
  WEFT_TRY(const auto measured, read_measured_run(name, text, ""));
  Run run = run_of(measured);
  if (run.cells.empty())
    return fail(ErrorKind::invalid_input,
                "{}: no flow in it: sweep with --load, --pattern all-pairs and --save, or compare live (weft "
                "compare run)",
                name);
  WEFT_TRY(const auto stamp, root.need("generated_at"));
  WEFT_TRY(const auto words, stamp.text());
  WEFT_TRY(const auto at, parse_instant(words));
  run.moment = Moment{at};
  return run;
}

}  // namespace

Result<Run> read_recorded_json(std::string name, std::string_view text) {
  const auto json = files::parse_json(text, name);
  if (json && json->is_object() && json->contains("schema"))
    return read_diagnosis(name, JsonView(*json, name), text);
  if (!json || !json->is_object() || !json->contains("results") || !(*json)["results"].is_array()) {
    auto run = PerftestDocument(name).read(text);
    if (!run && !json)
      return fail(ErrorKind::invalid_input, "{}; {}", run.error().message, json.error().message);
    return run;
  }
  const JsonView root(*json, name);
  NcclDocument document(name);
  WEFT_TRY_VOID(document.take(root));
  Run run = std::move(document).finish();
  if (run.cells.empty()) return fail(ErrorKind::invalid_input, "{}: no results in it", name);
  return run;
}

}  // namespace weft::compare
