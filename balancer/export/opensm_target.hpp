// OpensmTarget: takes links between switches out of the routes of an InfiniBand subnet, by ibportstate at one
// end: its subnet manager, OpenSM or another, then leads around them. What stands there is read by management
// datagrams from a port of this host. A port that is disabled says not by whom: it is ours where the ledger
// has it.
#pragma once

#include <functional>
#include <memory>

#include "balancer/export/subnet_links.hpp"
#include "balancer/export/translate.hpp"
#include "probes/mad/mads.hpp"

namespace weft::exports {

struct PortCalls {
  std::vector<std::string> options{};            // of infiniband-diags, that name our own port
  Nanoseconds limit = std::chrono::seconds(10);  // of one call
};

class OpensmTarget : public Target {
 public:
  /// `open` gives the management port; it is open only while read() asks, so that ibportstate may have it.
  using OpenMads = std::function<Result<std::unique_ptr<mad::Mads>>()>;
  /// The fabric must outlive it.
  OpensmTarget(const Fabric& fabric, OpenMads open, PortCalls calls = {})
      : fabric_(fabric), open_(std::move(open)), calls_(std::move(calls)) {}

  std::string_view name() const override { return "opensm"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_opensm(ledger, fabric, policy);
  }
  Result<void> check_rights() override;
  /// Also of links that nobody asked for and that are disabled: they count for the caps.
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  std::vector<std::string> prepare(std::span<Change> changes) override;
  Result<void> apply(std::span<const Change> changes) override;
  bool may_cut_off() const override { return true; }
  std::string by_hand(const Change& change) const override;

 private:
  std::vector<std::string> words(const char* program, const SwitchPort& port, const char* what) const;
  Result<void> check_is_there(const SwitchPort& port) const;
  std::string typed(const SwitchPort& port, const char* what) const;
  /// At which end, by what read() saw.
  Result<SwitchPort> end_of(const Change& change) const;

  const Fabric& fabric_;
  OpenMads open_;
  PortCalls calls_;
  std::optional<SubnetLinks> links_;  // as read() saw them
};

}  // namespace weft::exports
