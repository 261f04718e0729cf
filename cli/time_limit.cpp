#include "cli/time_limit.hpp"

#include <fmt/format.h>

namespace weft::cli {
namespace {

constexpr Nanoseconds kMinTime = std::chrono::seconds(1);
constexpr Nanoseconds kMaxTime = std::chrono::hours(24);
constexpr auto kForVerdict = std::chrono::seconds(10);  // what is known by then is worth a diagnosis

}  // namespace

void add_timeout_option(po::options_description& options, const char* name) {
  options.add_options()(name, po::value<std::string>()->value_name("TIME"),
                        "end after this time at the latest, with what is known by then (default: no limit)");
}

Result<std::optional<session::TimeLimit>> read_time_limit(const po::variables_map& values, const char* name) {
  WEFT_TRY(const auto given, read_option(values, name, parse_duration));
  if (!given) return std::nullopt;
  if (*given < kMinTime || *given > kMaxTime)
    return fail(ErrorKind::usage, "--{} {}: expected 1s to 24h", name, to_string(*given));
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<session::TimePoint::duration>(*given);
  return session::TimeLimit{until, *given};
}

void limit_computing(session::Sweep& sweep, const std::optional<session::TimeLimit>& limit,
                     std::stop_token stop) {
  const auto over_after = [&](session::TimePoint::duration more) {
    return [stop, until = limit ? limit->until + more : session::TimePoint::max()] {
      return stop.stop_requested() || std::chrono::steady_clock::now() >= until;
    };
  };
  sweep.limit_computing({.settling = over_after({}),
                         .verdict = over_after(kForVerdict),
                         .why = limit ? fmt::format("the time given (--timeout {}) was over, or it was "
                                                    "interrupted, while the losses were diagnosed",
                                                    to_string(limit->given))
                                      : "interrupted while the losses were diagnosed"});
}

}  // namespace weft::cli
