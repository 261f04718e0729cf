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

class SlurmTarget : public Target {
 public:
  explicit SlurmTarget(SlurmCalls calls = {}) : calls_(std::move(calls)) {}

  std::string_view name() const override { return "slurm"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_slurm(ledger, fabric, policy, calls_.host_mark);
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
  Result<std::string> call(std::vector<std::string> words) const;
  Result<void> call_all(const std::vector<std::vector<std::string>>& commands) const;
  Result<void> call_alone(const std::vector<Change>& changes, const Error& of_batch) const;
  Result<std::vector<SlurmNode>> show(const std::vector<std::string>& names) const;
  Result<void> set_features(std::span<const Change> changes) const;
  Result<std::vector<SlurmReservation>> reservations() const;
  Result<void> set_reservation(const Change& change) const;

  SlurmCalls calls_;
};

}  // namespace weft::exports
