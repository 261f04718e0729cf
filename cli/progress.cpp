#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/exit_status.hpp"

namespace weft::cli {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr std::size_t kUsualColumns = 80;

constexpr std::size_t kBar = 20;
/// Before that the time left is a guess.
constexpr double kTellsTime = 0.05;

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::size_t stderr_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

/// Whether the terminal behind stderr can take a line away again.
bool can_erase() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && *terminal != '\0' &&
         std::string_view(terminal) != "dumb";
}

}  // namespace

ProgressStyle usual_progress_style() { return can_erase() ? ProgressStyle::terminal : ProgressStyle::none; }

void add_progress_option(po::options_description& options) {
  options.add_options()("progress", po::value<std::string>()->value_name("auto|plain|none"),
                        "auto (a line on a terminal), plain (lines for a log, one each 10 s) or none");
}

Result<ProgressStyle> read_progress_style(const po::variables_map& values) {
  const std::string style = text_option(values, "progress").value_or("auto");
  if (style == "auto") return usual_progress_style();
  if (style == "plain") return ProgressStyle::plain;
  if (style == "none") return ProgressStyle::none;
  return fail(ErrorKind::usage, "--progress {}: expected auto, plain or none", style);
}

namespace {

/// As many of the parts as fit, at least the first.
std::string fitted(std::vector<std::string> parts, std::size_t columns) {
  while (true) {
    std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (text.size() <= columns || parts.size() == 1) return text.substr(0, columns);
    parts.pop_back();
  }
}

}  // namespace

std::string WholeRun::text(const session::Progress& progress, Nanoseconds run_time, std::size_t columns,
                           bool with_bar) {
  if (!progress.part) return {};
  const double of_wave =
      progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 0;
  const auto& [begin, end] = *progress.part;
  share_ = std::clamp(begin + (end - begin) * of_wave, share_, 1.0);
  const auto filled = static_cast<std::size_t>(share_ * static_cast<double>(kBar));
  const auto bar = std::string(filled, '#') + std::string(kBar - filled, '-');
  std::vector<std::string> parts{fmt::format("{}: {} of {}", progress.doing, progress.done, progress.total)};
  if (with_bar)
    parts.front() = fmt::format("[{}] {:.0f}% {}", bar, share_ * 100, parts.front());
  else
    parts.push_back(fmt::format("{:.0f}% of the run", share_ * 100));
  const double took = seconds(run_time);
  parts.push_back(fmt::format("{:.0f} s", took));
  if (share_ > kTellsTime && share_ < 1 && took >= 1)
    parts.push_back(fmt::format("about {:.0f} s left", took * (1 / share_ - 1)));
  if (progress.probes > 0 && took >= 1)
    parts.push_back(fmt::format("{:.0f} probes/s", static_cast<double>(progress.probes) / took));
  return fitted(std::move(parts), columns);
}

std::string progress_text(const session::Progress& progress, Nanoseconds run_time, Nanoseconds part_time,
                          std::size_t columns) {
  std::vector<std::string> parts{fmt::format("{}: {} of {}", progress.doing, progress.done, progress.total),
                                 fmt::format("{:.0f} s", seconds(run_time))};
  if (progress.total > 0) {
    const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    parts.insert(parts.begin() + 1, fmt::format("{:.0f}%", share * 100));
    if (progress.done > 0 && progress.done < progress.total && seconds(part_time) >= 1)
      parts.push_back(fmt::format("about {:.0f} s left", seconds(part_time) * (1 / share - 1)));
  }
  return fitted(std::move(parts), columns);
}

ProgressLine::ProgressLine(ProgressStyle style) : style_(style) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (std::exchange(shown_line_, false)) print_stderr("\r\033[K");
}

void ProgressLine::begin(std::string_view part) {
  const auto now = Clock::now();
  if (!part_.empty()) {
    // A part that comes again (a second round of probes) adds to its first time.
    auto known =
        std::find_if(timings_.begin(), timings_.end(), [this](const auto& t) { return t.first == part_; });
    if (known == timings_.end()) known = timings_.insert(timings_.end(), {part_, Nanoseconds(0)});
    known->second += now - part_began_;
  }
  part_ = part;
  part_began_ = now;
}

void ProgressLine::show(const session::Progress& progress) {
  const bool is_new = progress.doing != part_;
  if (is_new) begin(progress.doing);
  if (style_ == ProgressStyle::none) return;
  const auto now = Clock::now();
  const bool plain = style_ == ProgressStyle::plain;
  const auto interval = plain ? Nanoseconds(kPlainInterval) : Nanoseconds(kTerminalInterval);
  if (now - shown_ < interval && !(plain ? is_new : progress.done == progress.total)) return;
  shown_ = now;
  // A terminal that the last column has been written to may begin a new line.
  const std::size_t columns = plain ? kUsualColumns : stderr_columns() - 1;
  std::string text = whole_.text(progress, now - began_, columns, !plain);
  if (text.empty()) text = progress_text(progress, now - began_, now - part_began_, columns);
  if (plain)
    print_stderr("{}\n", text);
  else
    print_stderr("\r\033[K{}", text);
  shown_line_ = !plain;
  std::fflush(stderr);
}

std::vector<std::pair<std::string, Nanoseconds>> ProgressLine::timings() {
  begin("");
  return timings_;
}

}  // namespace weft::cli
