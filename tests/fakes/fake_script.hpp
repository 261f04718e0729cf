// FakeScript: a Script of some waves, each one piece of work for every NIC that still takes part; it keeps
// what it was told.
#pragma once

#include <set>
#include <vector>

#include "probes/session/script.hpp"

namespace weft::fakes {

class FakeScript : public session::Script {
 public:
  FakeScript(std::vector<PortId> nics, int waves) : nics_(std::move(nics)), waves_left_(waves) {}

  std::vector<session::WorkItem> next_wave() override {
    std::vector<session::WorkItem> wave;
    if (waves_left_-- <= 0) return wave;
    for (const PortId nic : nics_)
      if (!excluded.contains(nic))
        wave.push_back({nic, std::chrono::seconds(1), session::ReceivedQuery{BatchId(1)}});
    return wave;
  }
  void take(const session::WorkItem&, const session::TaskAnswer* answer) override {
    ++(answer ? answered : given_up);
  }
  void meet(const std::vector<diagnosis::JoinedHost>& hosts) override {
    met = hosts;
    ++meetings;
  }
  void exclude(PortId nic) override { excluded.insert(nic); }
  void blame(HostEvidence evidence) override { blamed.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override { untested.push_back(std::move(what)); }
  void note_pause() override { ++pauses; }
  bool cut_short(const std::string& why) override {
    ended_by = why;
    return keeps_a_part;
  }
  std::string_view doing() const override { return "asking"; }

  const std::vector<PortId>& nics() const { return nics_; }

  int answered = 0;
  int given_up = 0;
  std::vector<diagnosis::JoinedHost> met;
  int meetings = 0;
  std::set<PortId> excluded;
  std::vector<HostEvidence> blamed;
  std::vector<NotTested> untested;
  int pauses = 0;
  std::string ended_by;
  bool keeps_a_part = true;

 private:
  std::vector<PortId> nics_;
  int waves_left_;
};

}  // namespace weft::fakes
