// Slurm's words: names that are safe to give to scontrol, the reason of a drain, and what `scontrol -o show
// node` says. Pure. Of Slurm 22.05; later ones say the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancer/export/target.hpp"
#include "topology/model/fabric.hpp"

namespace weft::exports {

inline constexpr std::string_view kReasonPrefix = "weft: ";
/// Of a reason, in bytes, all printable.
inline constexpr std::size_t kMaxReason = 200;

/// A name that scontrol takes for this one node alone: no list, range, `ALL`, option or word of another kind.
bool is_slurm_name(std::string_view name);

/// `weft: VERDICT LINK id=ID WHY`, cut to `longest` bytes, all printable.
std::string mark_reason(const Fabric& fabric, const blacklist::Entry& entry, std::string_view ledger_fabric,
                        std::string_view why, std::size_t longest);
/// The same with the reason of an entry or its first evidence, as long as Slurm takes it.
std::string slurm_reason(const Fabric& fabric, const blacklist::Entry& entry, std::string_view ledger_fabric);
/// The ID in a reason of that form; absent: it is somebody else's.
std::optional<std::string> mark_in_reason(std::string_view reason);

/// Objects are nodes (to be drained) and features of nodes (to be taken off): `gpu001`,
/// `gpu001:weft_rail3_ok`.
std::string rail_feature(std::uint32_t rail);
std::string feature_object(std::string_view node, std::string_view feature);
struct SlurmObject {
  std::string node, feature;  // the feature is empty: the node itself
};
SlurmObject parse_slurm_object(std::string_view object);

struct SlurmNode {
  std::string name;
  std::vector<std::string> state;              // IDLE, DRAIN, ...: the base, then flags
  std::vector<std::string> available, active;  // features
  std::string reason{};                        // without who set it and when
  friend bool operator==(const SlurmNode&, const SlurmNode&) = default;
};

/// Lines of `scontrol -o show node`; what is no such line ("Node x not found") is passed over. Error:
/// invalid_input, a node's line without a state.
Result<std::vector<SlurmNode>> parse_slurm_nodes(std::string_view text);

/// What stands at an object of that node; absent: the node has no such feature.
std::optional<Standing> standing_of(const SlurmNode& node, const std::string& object);

}  // namespace weft::exports
