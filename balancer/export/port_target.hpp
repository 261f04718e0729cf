// PortTarget: links between switches are shut at a port of one end, by files for the tool with which a site
// changes its switches: for SONiC the paths and values of a gNMI Set, for Cumulus the lines of NVUE. It
// cannot read a switch: what stands is what it asked for, as `marks.json` in its directory has it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "balancer/export/translate.hpp"
#include "topology/base/units.hpp"

namespace weft::exports {

enum class PortDialect : std::uint8_t { sonic, cumulus };

/// What shuts or opens a port: `Ethernet4` of SONiC, `swp1` or `swp1s0` of Cumulus. A name that such a switch
/// cannot have: absent.
std::optional<std::string> port_text(PortDialect dialect, std::string_view port, bool up);
/// What a person types on the switch for it.
std::string port_typed(PortDialect dialect, std::string_view port, bool up);

struct PortFiles {
  std::filesystem::path directory;  // with SWITCH.sonic or SWITCH.nv: what is to change there now
  std::string program;              // started as `PROGRAM SWITCH FILE`
  bool is_new = false;              // nothing was shut by way of the directory yet: it has no marks
  Nanoseconds limit = std::chrono::seconds(10);  // of one call: it is killed then
};

/// A link that is shut.
struct ShutPort {
  std::string node, port;  // where
  std::string mark;
  bool in_effect = false;  // the last change of the port was made
};
/// By the links' names.
using PortMarks = std::map<std::string, ShutPort>;

/// A file of marks, which `what` names in errors: invalid_input; conflict, of another fabric.
Result<PortMarks> parse_port_marks(std::string_view text, std::string_view what, std::string_view fabric);

class PortTarget : public Target {
 public:
  /// The fabric must outlive it.
  PortTarget(const Fabric& fabric, PortDialect dialect, PortFiles files)
      : fabric_(fabric), dialect_(dialect), files_(std::move(files)) {}

  std::string_view name() const override { return dialect_ == PortDialect::sonic ? "sonic" : "cumulus"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override;
  Result<void> check_rights() override;
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  std::vector<std::string> prepare(std::span<Change> changes) override;
  Result<void> apply(std::span<const Change> changes) override;
  std::string by_hand(const Change& change) const override;

 private:
  Result<PortMarks> read_marks() const;
  Result<void> write_marks(const PortMarks& marks) const;
  /// Where a change is made: where the link was shut, else the lower of its ends whose port has a name.
  /// Error: usage, neither has.
  Result<ShutPort> place_of(const Change& change, const PortMarks& marks) const;
  bool is_at(const std::string& link, const ShutPort& shut) const;
  Result<void> change_switch(const std::string& node, const std::string& text) const;

  const Fabric& fabric_;
  PortDialect dialect_;
  PortFiles files_;
  PortMarks marks_;  // as they were last read
};

}  // namespace weft::exports
