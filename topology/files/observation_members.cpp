#include "topology/files/observation_members.hpp"

#include "topology/findings/loss_runs.hpp"

namespace weft {
namespace {

constexpr double kMaxWindowMicros = 1e12;  // eleven days

Result<std::vector<LossRun>> read_runs(const JsonView& view) {
  std::vector<LossRun> runs;
  WEFT_TRY(const auto size, view.size());
  for (std::size_t i = 0; i < size && i <= kMaxLossRuns; ++i) {
    const JsonView run = view.at(i);
    WEFT_TRY(const auto parts, run.size());
    if (parts != 2) return run.error("expected the first packet and how many they are");
    WEFT_TRY(const auto first, run.at(0).count<std::uint32_t>());
    WEFT_TRY(const auto packets, run.at(1).count<std::uint32_t>());
    runs.push_back({first, packets});
  }
  return runs;
}

}  // namespace

Result<std::uint64_t> read_count(const JsonView& view, std::string_view key,
                                 std::optional<std::uint64_t> otherwise) {
  const auto member = view.find(key);
  if (!member && otherwise) return *otherwise;
  WEFT_TRY(const auto needed, view.need(key));
  const auto value = needed.count<std::uint64_t>();
  if (value && *value > kMaxPackets) return needed.error("{} is more than any run counts", *value);
  return value;
}

Result<double> read_number(const JsonView& view, std::string_view key, double most) {
  WEFT_TRY(const auto needed, view.need(key));
  const auto value = needed.number();
  if (value && !(*value >= 0 && *value <= most)) return needed.error("expected a number from 0 to {}", most);
  return value;
}

Result<std::optional<TimeWindow>> read_window(const JsonView& view) {
  const auto member = view.find("window");
  if (!member) return std::optional<TimeWindow>();
  WEFT_TRY(const auto start, read_number(*member, "start_us", kMaxWindowMicros));
  WEFT_TRY(const auto length, read_number(*member, "length_us", kMaxWindowMicros));
  return std::optional(TimeWindow{from_micros(start), from_micros(length)});
}

Result<void> read_order(const JsonView& view, Observation& seen) {
  WEFT_TRY(const auto excused, read_count(view, "excused", 0));
  seen.excused = excused;
  WEFT_TRY(const auto window, read_window(view));
  seen.window = window;
  if (const auto member = view.find("runs")) {
    WEFT_TRY(auto runs, read_runs(*member));
    seen.runs = std::move(runs);
  }
  return check_order(seen);
}

Result<ToldPair> read_labelled(const JsonView& view) {
  ToldPair told;
  for (const auto& [key, name] : {std::pair("src", &told.src), std::pair("dst", &told.dst)})
    if (const auto member = view.find(key)) {
      WEFT_TRY(const auto text, member->text());
      *name = std::string(text);
    }
  if (const auto member = view.find("label")) {
    WEFT_TRY(const auto label, member->count<std::uint32_t>());
    told.label = label;
  }
  return told;
}

Result<void> check_order(const Observation& seen) {
  if (seen.excused > seen.lost)
    return fail(ErrorKind::invalid_input, "{} excused of {} lost", seen.excused, seen.lost);
  if (!are_loss_runs(seen.runs, seen.sent))
    return fail(ErrorKind::invalid_input,
                "runs of lost packets: expected at most {}, ascending, within the {} sent", kMaxLossRuns,
                seen.sent);
  if (!seen.runs.empty() && packets_in(seen.runs) != seen.lost)
    return fail(ErrorKind::invalid_input, "{} packets in the runs of {} lost", packets_in(seen.runs),
                seen.lost);
  return {};
}

}  // namespace weft
