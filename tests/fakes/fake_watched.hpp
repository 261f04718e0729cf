// FakeWatched: a fabric that is watched, for what shows it: its faults are given, its state, history, paths
// and mutes follow from them. Thread-safe as the seams ask.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectors/web/page_source.hpp"

namespace weft {

class FakeWatched final : public web::LiveSource,
                          public web::HistorySource,
                          public web::MuteSource,
                          public web::AvoidSource,
                          public web::WarningSource {
 public:
  /// `now`: of the wall clock; all of its history is before.
  FakeWatched(std::shared_ptr<const Fabric> fabric, Nanoseconds now);

  /// From then on the channel loses that share of what crosses it; an open incident says so.
  IncidentId fault(std::string_view channel, double loss, Nanoseconds since);
  void mute(IncidentId incident, std::string reason);
  void heal(IncidentId incident, Nanoseconds at);
  /// Its hosts are heard no more: their channels become unknown.
  void silence(std::string_view host);
  void advance(Nanoseconds by);
  /// What every call that may fail says from now on.
  void break_with(std::string message);
  /// What a question for paths gets from now on.
  void break_paths(std::string message);
  /// The link is on the blacklist.
  void avoid(std::string_view link, Verdict verdict, Nanoseconds until);
  /// Counters of that port tell of it.
  void warn(std::string_view port, std::optional<PortWarning::Days> loss, std::string text);
  Nanoseconds now() const;

  web::PageFabric page();

  web::LiveView view() const override;
  Result<std::vector<web::CrossingPath>> paths_over(LinkId link, std::size_t most) const override;
  web::TimeRange kept() const override;
  Result<std::vector<Incident>> incidents(web::TimeRange range, std::size_t most) const override;
  Result<std::vector<web::LinkSums>> link_sums(LinkId link, web::TimeRange range,
                                               std::size_t most) const override;
  Result<std::vector<web::ChannelSum>> sums_at(Nanoseconds at) const override;
  Result<std::vector<web::StandingMute>> mutes() const override;
  Result<void> add(const web::MuteWish& wish) override;
  Result<void> remove(std::string_view place) override;
  web::Avoided avoided() const override;
  PortWarnings warnings() const override;

 private:
  struct Fault {
    Incident incident;
    double loss = 0;
  };
  void make_state();
  void note_mutes();  // in the incidents of links
  Result<void> known(std::string_view place) const;
  double loss_of(ChannelId channel, Nanoseconds at) const;
  Result<void> works() const;

  std::shared_ptr<const Fabric> fabric_;
  mutable std::mutex mutex_;
  Nanoseconds now_;
  std::vector<Fault> faults_;
  std::vector<NodeId> silent_;
  std::vector<web::StandingMute> mutes_;
  web::Avoided avoided_;
  PortWarnings warnings_;
  std::string trouble_;
  std::string paths_trouble_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const watch::WatchState> state_;
};

}  // namespace weft
