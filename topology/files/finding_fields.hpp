// Members that several documents share: verdicts, causes and estimates of findings, and channels by name.
#pragma once

#include "topology/files/json_fields.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {

inline const auto as_verdict = as_word(&parse_verdict, "healthy, unknown, congested, degraded or failed");
inline const auto as_cause =
    as_word(&parse_cause, "loss, rate, congestion, delay, down, mtu, corruption or counter");

inline Result<Estimate> as_estimate(const JsonView& view) {
  Estimate estimate;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "value", estimate.value, as_number); },
                        [&] { return need_member(view, "low", estimate.low, as_number); },
                        [&] { return need_member(view, "high", estimate.high, as_number); }));
  return estimate;
}

inline Result<ChannelId> read_channel(const Fabric& fabric, const JsonView& view) {
  WEFT_TRY(const auto name, view.text());
  const auto channel = fabric.find_channel(name);
  if (!channel) return view.error("{}", channel.error().message);
  return *channel;
}

}  // namespace weft::files
