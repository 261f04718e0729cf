// SlurmTarget: Slurm by its scontrol, without a shell. Never libslurm, whose licence is
// GPL.
#pragma once

#include "balancer/export/slurm_reservation.hpp"
#include "balancer/export/translate.hpp"
#include "topology/base/units.hpp"

namespace weft::exports {

struct SlurmCalls {
  std::string scontrol = "scontrol";             // looked up in PATH unless it has a '/'
  Nanoseconds limit = std::chrono::seconds(10);  // of one call: it is killed then
  HostMark host_mark = HostMark::drain;
};

/// scontrol, as a program that is started for each call.
class Scontrol {
 public:
  using Words = std::vector<std::string>;  // of a command

  explicit Scontrol(SlurmCalls calls) : calls_(std::move(calls)) {}
  HostMark host_mark() const { return calls_.host_mark; }

  Result<std::string> call(Words words) const;
  /// One after the other; the first error.
  Result<void> call_each(const std::vector<Words>& commands) const;
  /// By one scontrol, that reads them as lines: to start it takes ten times what a command takes.
  Result<void> call_as_lines(const std::vector<Words>& commands) const;
  Result<std::vector<SlurmNode>> nodes(const Words& names) const;
  Result<std::vector<SlurmReservation>> reservations() const;

 private:
  SlurmCalls calls_;
};

class SlurmTarget : public Target {
 public:
  explicit SlurmTarget(SlurmCalls calls = {}) : scontrol_(std::move(calls)) {}

  std::string_view name() const override { return "slurm"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_slurm(ledger, fabric, policy, scontrol_.host_mark());
  }
  Result<void> check_rights() override;
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  Result<void> apply(std::span<const Change> changes) override;
  std::string by_hand(const Change& change) const override;
  std::string subject_of(const std::string& object) const override {
    const auto [node, feature] = parse_slurm_object(object);
    return feature == kReservation ? node : object;
  }

 private:
  Scontrol scontrol_;
};

}  // namespace weft::exports
