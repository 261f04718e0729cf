// What is broken about a cable that loses packets, and at which end: what an operator does first. Signs are
// what both ends measure beside their peers; guesses are made of them by probes/diagnosis/repair. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {

enum class RepairCause {
  dirty_connector,   // at an end
  damaged_fibre,     // between the ends: also a broken copper cable
  weak_transmitter,  // the laser of an end
  bad_module,        // another part of the module at an end
  shared_component,  // of a port and those beside it: module, line card, breakout
};
inline constexpr int kRepairCauses = 5;
std::string_view to_string(RepairCause cause);
std::optional<RepairCause> parse_repair_cause(std::string_view text);

/// What one end measures; each is absent where it is not told. "Peers": ports with the same module part.
struct EndSigns {
  std::optional<double> sent_db = std::nullopt;      // power of the weakest lane, dB above that of peers
  std::optional<double> received_db = std::nullopt;  // the same of what it receives
  std::optional<double> bias = std::nullopt;  // current of the laser: natural logarithm of the ratio to peers
  std::optional<double> celsius = std::nullopt;  // above peers
  std::optional<double> errors = std::nullopt;   // corrected errors that it receives: decades above peers
  std::optional<double> neighbours_bad = std::nullopt;  // share of the ports beside it whose errors rose
  std::optional<bool> touched = std::nullopt;           // its module was changed in what is known of it
};

/// `from` sends what is lost, `to` receives it.
struct RepairSigns {
  EndSigns from, to;
  std::optional<double> flaps = std::nullopt;  // changes of the link a day
  bool one_part = false;  // copper or active optical: no connector is cleaned, no module replaced
};

struct RepairGuess {
  RepairCause cause = RepairCause::dirty_connector;
  std::optional<bool> at_sender = std::nullopt;  // absent: at neither end
  double probability = 0;
};

/// The action that a guess asks for, at a port as people write it ("leaf4 port 6"); of the fibre, none.
std::string repair_text(RepairCause cause, std::string_view port);

}  // namespace weft
