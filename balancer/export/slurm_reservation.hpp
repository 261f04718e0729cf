// A reservation of Slurm that keeps one node for operators: jobs of others do not start there, while the node
// stays in service for whoever mends it. Its name holds the mark. Pure. Of Slurm 22.05.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/export/slurm_node.hpp"

namespace weft::exports {

/// Objects are `gpu001:reservation`.
inline constexpr std::string_view kReservation = "reservation";

struct SlurmReservation {
  std::string name, nodes;  // nodes as Slurm writes them, a list for more than one
  friend bool operator==(const SlurmReservation&, const SlurmReservation&) = default;
};
/// Lines of `scontrol -o show reservation`; any other line is passed over. Error: invalid_input, one twice.
Result<std::vector<SlurmReservation>> parse_slurm_reservations(std::string_view text);

/// `weft.FABRIC.ENTRY.NODE`
std::string reservation_name(std::string_view mark, std::string_view node);
/// The mark in the name of a reservation of that node alone; absent: it is somebody else's.
std::optional<std::string> mark_in_reservation(const SlurmReservation& reservation, std::string_view node);

/// What stands there, as people read it.
std::string reservation_text(std::string_view name);
std::string_view name_in_reservation_text(std::string_view text);

/// Ours where there is one of that node; else as the node is: what others have out of service is theirs.
Standing reservation_standing(const SlurmNode& node, const std::vector<SlurmReservation>& reservations);

/// Arguments of scontrol. It fails where another reservation has the node: that one stays.
std::vector<std::string> reserve(std::string_view name, std::string_view node);
std::vector<std::string> unreserve(std::string_view name);

}  // namespace weft::exports
