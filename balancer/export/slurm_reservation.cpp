#include "balancer/export/slurm_reservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topology/base/outside_text.hpp"

namespace weft::exports {
namespace {

constexpr std::string_view kText = "reserved: ";

/// The value of the first ` KEY=` of a line, to the next blank.
std::string field(std::string_view line, std::string_view key) {
  const auto at = line.find(fmt::format(" {}=", key));
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + key.size() + 2);
  return outside_text(line.substr(0, line.find(' ')));
}

}  // namespace

Result<std::vector<SlurmReservation>> parse_slurm_reservations(std::string_view text) {
  constexpr std::string_view kName = "ReservationName=";
  std::vector<SlurmReservation> all;
  std::set<std::string> names;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(kName)) continue;
    const auto rest = line.substr(kName.size());
    SlurmReservation one{outside_text(rest.substr(0, rest.find(' '))), field(rest, "Nodes")};
    if (!names.insert(one.name).second)
      return fail(ErrorKind::invalid_input, "scontrol show reservation: {} twice", one.name);
    all.push_back(std::move(one));
  }
  return all;
}

std::string reservation_name(std::string_view mark, std::string_view node) {
  return fmt::format("{}.{}", mark_value(mark), node);
}

std::optional<std::string> mark_in_reservation(const SlurmReservation& reservation, std::string_view node) {
  const auto end = fmt::format(".{}", node);
  std::string_view name = reservation.name;
  if (reservation.nodes != node || !name.ends_with(end)) return std::nullopt;
  name.remove_suffix(end.size());
  return mark_in_value(name);
}

std::string reservation_text(std::string_view name) { return fmt::format("{}{}", kText, name); }

std::string_view name_in_reservation_text(std::string_view text) {
  if (!text.starts_with(kText)) return {};
  return text.substr(kText.size());
}

Standing reservation_standing(const SlurmNode& node, const std::vector<SlurmReservation>& reservations) {
  const auto object = feature_object(node.name, kReservation);
  for (const SlurmReservation& one : reservations)
    if (auto mark = mark_in_reservation(one, node.name))
      return {.object = object,
              .whose = Whose::weft,
              .text = reservation_text(one.name),
              .mark = std::move(mark)};
  auto standing = standing_of(node, node.name).value_or(Standing{});
  standing.object = object;
  // A drain of weft's own says as much: no second mark beside it.
  if (standing.whose == Whose::weft) standing.whose = Whose::others, standing.mark.reset();
  return standing;
}

std::vector<std::string> reserve(std::string_view name, std::string_view node) {
  return {"create",
          "reservation",
          fmt::format("ReservationName={}", name),
          "StartTime=now",
          "Duration=UNLIMITED",
          "Users=root",
          "Flags=IGNORE_JOBS",
          fmt::format("Nodes={}", node)};
}

std::vector<std::string> unreserve(std::string_view name) {
  return {"delete", fmt::format("ReservationName={}", name)};
}

}  // namespace weft::exports
