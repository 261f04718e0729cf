#include "topology/model/tolerance.hpp"

namespace weft {
namespace {

// kFailedLoss of topology/findings, which stands above this folder.
constexpr double kFails = 0.05;

}  // namespace

Result<Fraction> parse_tolerated_loss(std::string_view text) {
  const auto loss = parse_percent(text);
  if (!loss) return loss;
  if (loss->value() <= 0 || loss->value() >= kFails)
    return fail(ErrorKind::invalid_input, "{} is not between 0% and {:.0f}%", text, kFails * 100);
  return loss;
}

Result<Nanoseconds> parse_tolerated_delay(std::string_view text) {
  const auto delay = parse_duration(text);
  if (!delay) return delay;
  if (*delay > std::chrono::seconds(1))
    return fail(ErrorKind::invalid_input, "{} is not between 0s and 1s", text);
  return delay;
}

}  // namespace weft
