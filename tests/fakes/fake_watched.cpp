#include "tests/fakes/fake_watched.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSentAMinute = 60'000;
constexpr Nanoseconds kKept = 24h;

bool is_over(const Incident& incident) { return incident.closed.has_value(); }

}  // namespace

FakeWatched::FakeWatched(std::shared_ptr<const Fabric> fabric, Nanoseconds now)
    : fabric_(std::move(fabric)), now_(now) {
  make_state();
}

IncidentId FakeWatched::fault(std::string_view channel, double loss, Nanoseconds since) {
  const std::scoped_lock lock(mutex_);
  const auto found = fabric_->find_channel(channel).value();
  const IncidentId id(faults_.size() + 1);
  Incident incident{.id = id,
                    .place = {.channels = {found}, .nodes = {}},
                    .cause = loss < 1 ? Cause::loss : Cause::down,
                    .verdict = verdict_of(loss < 1 ? Cause::loss : Cause::down, loss),
                    .state = IncidentState::open,
                    .confidence = 0.9997,
                    .first_seen = since,
                    .last_seen = now_,
                    .opened = since + 3s,
                    .bad = now_ - since};
  if (loss < 1) incident.estimate = Estimate{loss, loss * 0.9, loss * 1.1};
  incident.evidence = {fmt::format("{} of {} probes over it were lost",
                                   static_cast<std::uint64_t>(loss * kSentAMinute), kSentAMinute)};
  faults_.push_back({std::move(incident), loss});
  make_state();
  return id;
}

void FakeWatched::mute(IncidentId incident, std::string reason) {
  const std::scoped_lock lock(mutex_);
  faults_.at(incident.value() - 1).incident.muted_by = std::move(reason);
  make_state();
}

void FakeWatched::heal(IncidentId incident, Nanoseconds at) {
  const std::scoped_lock lock(mutex_);
  Incident& healed = faults_.at(incident.value() - 1).incident;
  healed.state = IncidentState::closed;
  healed.last_seen = at;
  healed.closed = at;
  healed.bad = at - healed.first_seen;
  make_state();
}

void FakeWatched::silence(std::string_view host) {
  const std::scoped_lock lock(mutex_);
  silent_.push_back(fabric_->find_node(host).value());
  make_state();
}

void FakeWatched::advance(Nanoseconds by) {
  const std::scoped_lock lock(mutex_);
  now_ += by;
  make_state();
}

void FakeWatched::break_with(std::string message) {
  const std::scoped_lock lock(mutex_);
  trouble_ = std::move(message);
}

void FakeWatched::break_paths(std::string message) {
  const std::scoped_lock lock(mutex_);
  paths_trouble_ = std::move(message);
}

void FakeWatched::avoid(std::string_view link, Verdict verdict, Nanoseconds until) {
  const std::scoped_lock lock(mutex_);
  avoided_.links.push_back({.link = fabric_->find_link(link).value(),
                            .verdict = verdict,
                            .confidence = 0.9997,
                            .evidence = {"38 of 4096 probes over it were lost"},
                            .first_seen = now_ - 24h,
                            .last_seen = now_ - 1h,
                            .until = until,
                            .owner = "weft",
                            .actions = {"drained host3"}});
}

web::Avoided FakeWatched::avoided() const {
  const std::scoped_lock lock(mutex_);
  auto told = avoided_;
  told.trouble = trouble_;
  return told;
}

void FakeWatched::warn(std::string_view port, std::optional<PortWarning::Days> loss, std::string text) {
  const std::scoped_lock lock(mutex_);
  warnings_.at = now_;
  warnings_.told = fabric_->port_count();
  warnings_.ports.push_back({.port = fabric_->find_port(port).value(),
                             .degrading = loss.has_value(),
                             .text = std::move(text),
                             .source = "prometheus",
                             .at = now_ - 5min,
                             .loss = loss});
}

PortWarnings FakeWatched::warnings() const {
  const std::scoped_lock lock(mutex_);
  auto told = warnings_;
  told.trouble = trouble_;
  return told;
}

Nanoseconds FakeWatched::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

web::PageFabric FakeWatched::page() { return {fabric_->name(), this, this, this, this, this}; }

web::LiveView FakeWatched::view() const {
  const std::scoped_lock lock(mutex_);
  return {fabric_, state_};
}

double FakeWatched::loss_of(ChannelId channel, Nanoseconds at) const {
  double loss = 0;
  for (const Fault& fault : faults_)
    if (fault.incident.place.channels.front() == channel && fault.incident.first_seen <= at &&
        (!is_over(fault.incident) || at < *fault.incident.closed))
      loss = std::max(loss, fault.loss);
  return loss;
}

void FakeWatched::make_state() {
  auto state = std::make_shared<watch::WatchState>();
  state->fabric = fabric_->name();
  state->version = ++version_;
  state->at = now_;
  state->plan = watch::PlanVersion(1);
  state->verdict = Verdict::healthy;
  state->windows = version_ * fabric_->hosts().size();
  state->last_look = 12ms;
  state->channels.assign(fabric_->channel_count(), {kSentAMinute, 0, true, true, Verdict::healthy});
  for (const NodeId host : fabric_->hosts()) {
    const bool is_silent = std::ranges::count(silent_, host) > 0;
    state->agents.push_back(
        {.host = host,
         .presence = is_silent ? watch::AgentPresence::silent : watch::AgentPresence::present,
         .lag = 180ms,
         .windows = version_,
         .plan = state->plan});
    if (!is_silent) continue;
    for (const ChannelId channel : fabric_->channels_at(host))
      state->channels[channel.value()] = {0, 0, true, false, Verdict::unknown};
  }
  for (const Fault& fault : faults_) {
    if (is_over(fault.incident)) continue;
    auto& channel = state->channels[fault.incident.place.channels.front().value()];
    channel.verdict = fault.incident.verdict;
    channel.lost = static_cast<std::uint64_t>(fault.loss * kSentAMinute);
    state->verdict = std::max(state->verdict, fault.incident.verdict);
    state->incidents.push_back(fault.incident);
  }
  std::ranges::stable_sort(state->incidents, std::greater{}, &Incident::verdict);
  state_ = std::move(state);
}

Result<void> FakeWatched::works() const {
  if (!trouble_.empty()) return fail(ErrorKind::absent, "{}", trouble_);
  return {};
}

Result<std::vector<web::CrossingPath>> FakeWatched::paths_over(LinkId link, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(works());
  if (!paths_trouble_.empty()) return fail(ErrorKind::timeout, "{}", paths_trouble_);
  std::vector<web::CrossingPath> paths;
  for (const ChannelId over : {Fabric::a_to_b(link), Fabric::b_to_a(link)})
    for (const ChannelId before : fabric_->channels_from(fabric_->source_node(over))) {
      if (paths.size() == most || before == over) break;
      const auto lost = static_cast<std::uint64_t>(loss_of(over, now_) * 600);
      paths.push_back({PathLabel(49'152 + static_cast<std::uint32_t>(paths.size())),
                       {Fabric::reverse(before), over},
                       {600, lost}});
    }
  std::ranges::stable_sort(paths, std::greater{},
                           [](const web::CrossingPath& path) { return path.sum.lost; });
  return paths;
}

web::TimeRange FakeWatched::kept() const { return {now() - kKept, now()}; }

Result<std::vector<Incident>> FakeWatched::incidents(web::TimeRange range, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(works());
  std::vector<Incident> found;
  for (const Fault& fault : faults_)
    if (fault.incident.first_seen < range.to &&
        (!is_over(fault.incident) || *fault.incident.closed > range.from))
      found.push_back(fault.incident);
  std::ranges::sort(found, std::greater{}, &Incident::first_seen);
  if (found.size() > most) found.resize(most);
  return found;
}

Result<std::vector<web::LinkSums>> FakeWatched::link_sums(LinkId link, web::TimeRange range,
                                                          std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(works());
  std::vector<web::LinkSums> buckets;
  const auto step = std::max<Nanoseconds>(1min, (range.to - range.from) / static_cast<std::int64_t>(most));
  for (auto at = range.from; at < range.to && buckets.size() < most; at += step) {
    const auto sum = [&](ChannelId channel) {
      return web::ChannelSum{kSentAMinute,
                             static_cast<std::uint64_t>(loss_of(channel, at) * double(kSentAMinute))};
    };
    buckets.push_back({at, step, sum(Fabric::a_to_b(link)), sum(Fabric::b_to_a(link))});
  }
  return buckets;
}

Result<std::vector<web::ChannelSum>> FakeWatched::sums_at(Nanoseconds at) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(works());
  if (at < now_ - kKept || at > now_) return std::vector<web::ChannelSum>();
  return std::vector<web::ChannelSum>(fabric_->channel_count(), {kSentAMinute, 0});
}

Result<std::vector<web::StandingMute>> FakeWatched::mutes() const {
  const std::scoped_lock lock(mutex_);
  return mutes_;
}

Result<void> FakeWatched::known(std::string_view place) const {
  if (fabric_->find_link(place) || fabric_->find_node(place)) return {};
  return fail(ErrorKind::not_found, "'{}' is neither a link nor a node of {}", place, fabric_->name());
}

Result<void> FakeWatched::add(const web::MuteWish& wish) {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(known(wish.place));
  const auto link = fabric_->find_link(wish.place);
  mutes_.push_back({link ? fabric_->name_of(*link) : wish.place, wish.who, wish.reason, now_ + wish.after,
                    now_ + wish.after + wish.length});
  note_mutes();
  return {};
}

Result<void> FakeWatched::remove(std::string_view place) {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY_VOID(known(place));
  const auto link = fabric_->find_link(place);
  const auto name = link ? fabric_->name_of(*link) : std::string(place);
  if (std::erase_if(mutes_, [&](const web::StandingMute& mute) { return mute.place == name; }) == 0)
    return fail(ErrorKind::not_found, "{} was not muted", place);
  note_mutes();
  return {};
}

void FakeWatched::note_mutes() {
  for (Fault& fault : faults_) {
    fault.incident.muted_by.reset();
    for (const web::StandingMute& mute : mutes_)
      if (mute.from <= now_ &&
          mute.place == fabric_->name_of(Fabric::link_of(fault.incident.place.channels.front())))
        fault.incident.muted_by = mute.reason;
  }
  make_state();
}

}  // namespace weft
