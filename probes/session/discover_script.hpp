// DiscoverScript: traces between NICs of a fabric that is not known, round by round, until rounds show
// nothing new. How fast follows from what the rounds before saw: no switch is asked for more answers than it
// gives.
#pragma once

#include <random>
#include <set>

#include "probes/discover/traced_cabling.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

struct DiscoverOptions {
  double answers_per_second = 100;  // of one switch
  std::uint64_t seed = 1;
};

class DiscoverScript final : public Script {
 public:
  /// A stand-in for the fabric (discover::fabric_of_hosts) and the addresses of its NICs, which outlive it.
  DiscoverScript(const Fabric& fabric, const AddressBook& addresses, const DiscoverOptions& options,
                 RunId run);

  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override { out_.insert(nic); }
  void blame(HostEvidence evidence) override { troubles_.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override {
    blame({what.host, what.nic, Verdict::unknown, std::nullopt, std::move(what.why)});
  }
  bool cut_short(const std::string& why) override;
  std::string_view doing() const override { return "tracing"; }

  const std::vector<PortId>& nics() const { return nics_; }  // that a trace's indices mean
  const std::vector<discover::Trace>& traces() const { return traces_; }
  /// What the traces showed; of use when the script is over.
  const discover::TracedCabling& found() const { return found_; }
  /// How long its rounds send at least, in seconds, if every hop answers.
  double sending_time() const { return sending_time_; }
  const std::vector<HostEvidence>& troubles() const { return troubles_; }
  /// Why it ended before its rounds were done.
  const std::optional<std::string>& cut_short_by() const { return cut_short_; }

 private:
  struct Order {
    std::uint32_t src;
    std::uint32_t dst;
    PathLabel label;
  };
  /// The cabling by all traces so far.
  discover::TracedCabling cabling_now() const;
  std::vector<Order> orders();
  std::vector<Order> orders_from(const std::vector<std::uint32_t>& part, std::size_t labels);
  std::vector<WorkItem> work_for(const std::vector<Order>& orders);
  double busiest_share() const;

  const Fabric* fabric_;
  const AddressBook* addresses_;
  DiscoverOptions options_;
  RunId run_;
  std::mt19937_64 random_;
  std::vector<PortId> nics_;
  std::set<PortId> out_;
  std::vector<discover::Trace> traces_;
  std::vector<HostEvidence> troubles_;
  discover::TracedCabling found_;  // by the rounds before
  std::optional<std::string> cut_short_;
  double sending_time_ = 0;
  unsigned rounds_ = 0;
  unsigned quiet_rounds_ = 0;
  std::size_t longest_ = 0;  // switches of a trace that reached its peer
};

/// The answers to one trace as the hops of its switches. The first that names an address counts: a router
/// with no way on answers for all hops beyond it too.
discover::Trace trace_of(std::uint32_t src, std::uint32_t dst, PathLabel label,
                         std::vector<datapath::HopAnswer> answers);

}  // namespace weft::session
