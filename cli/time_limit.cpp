#include "cli/time_limit.hpp"

namespace weft::cli {
namespace {

constexpr Nanoseconds kShortest = std::chrono::seconds(1);
constexpr Nanoseconds kLongest = std::chrono::hours(24);

}  // namespace

void add_timeout_option(po::options_description& options) {
  options.add_options()("timeout", po::value<std::string>()->value_name("TIME"),
                        "end after this time at the latest, with what is known by then (default: no limit)");
}

Result<std::optional<session::TimeLimit>> read_time_limit(const po::variables_map& values) {
  WEFT_TRY(const auto given, read_option(values, "timeout", parse_duration));
  if (!given) return std::nullopt;
  if (*given < kShortest || *given > kLongest)
    return fail(ErrorKind::usage, "--timeout {}: expected 1s to 24h", to_string(*given));
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<session::TimePoint::duration>(*given);
  return session::TimeLimit{until, *given};
}

}  // namespace weft::cli
