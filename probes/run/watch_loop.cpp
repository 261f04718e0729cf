#include "probes/run/watch_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "collectors/counters/host_counters.hpp"
#include "probes/run/engines.hpp"
#include "probes/watch/assignment_json.hpp"
#include "probes/watch/plan_record.hpp"
#include "probes/watch/watch_protocol.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kRenewal = seconds(1);
constexpr auto kPoll = milliseconds(200);  // of one that stands by: so much later it takes over
constexpr auto kStateInterval = seconds(1);
constexpr auto kMutesInterval = seconds(2);
constexpr auto kTroublesInterval = seconds(10);  // of one agent: it may lie, and often
constexpr std::size_t kWindowsAtOnce = 4096;
constexpr const char* kPlanKey = "plan";

watch::PlanVersion version_in(const watch::SharedValue::Stored& stored) {
  return watch::PlanVersion(static_cast<std::uint32_t>(std::strtoul(stored.text.c_str(), nullptr, 10)));
}

/// What no path takes may be sick unseen, or just be down: the fabric routes around it.
std::string not_watched(const Fabric& fabric, const std::vector<ChannelId>& uncovered) {
  constexpr std::size_t kNamed = 6;
  std::string names;
  for (std::size_t i = 0; i < std::min(uncovered.size(), kNamed); ++i)
    names += (i == 0 ? "" : ", ") + fabric.name_of(uncovered[i]);
  if (uncovered.size() > kNamed) names += fmt::format(" and {} more", uncovered.size() - kNamed);
  return fmt::format(
      "not watched, as no path takes it: {}: it is down, or out of the routes; weft sweep tells", names);
}

}  // namespace

WatchLoop::WatchLoop(const WatchPlace& place, const WatchOptions& options, WatchListener& listener,
                     WatchParts parts)
    : place_(place),
      options_(options),
      listener_(listener),
      parts_(std::move(parts)),
      shared_(*parts_.link.values),
      engines_(place.fabric, place.nics),
      holder_(fmt::format("{}:{:x}", options.name, new_run_secrets().run.value())),
      renewal_(kRenewal),
      poll_(kPoll),
      state_(kStateInterval),
      mutes_(kMutesInterval),
      events_(place.fabric, *parts_.link.events, listener) {}
WatchLoop::~WatchLoop() = default;

void WatchLoop::turn() {
  renew_lease();
  if (active_) {
    lead();
  } else {
    follow();
    for (const watch::AgentWord& word : parts_.link.feed->words())  // said again to whoever is active
      if (const auto speech = watch::read_speech(word.text))
        if (const auto* hello = std::get_if<watch::AgentHello>(&*speech)) engines_.hear(word.host, *hello);
    std::this_thread::sleep_for(parts_.wait);
  }
  hear_counters();
  report_state();
}

void WatchLoop::end() {
  mapping_.reset();
  if (active_) static_cast<void>(parts_.link.lease->release());
  active_ = false;
}

/// What it holds counts by this process's own steady clock from before it was asked for.
void WatchLoop::renew_lease() {
  const auto asked = now();
  if (active_ ? renewal_.is_due(asked) : poll_.is_due(asked)) {
    const auto held = parts_.link.lease->hold(holder_);
    if (held && *held) held_until_ = asked + kLeaseTime;
    if (held && !*held) held_until_ = Nanoseconds(0);
    if (held && !*held && !watcher_ && !std::exchange(stands_by_, true))
      listener_.on_note(fmt::format("standing by: another watcher of {} is active", place_.fabric.name()));
  }
  const bool holds = now() < held_until_;
  if (holds && !active_) take_over();
  if (!holds && active_) step_down("the lease is another watcher's, or the bus is away");
}

void WatchLoop::take_over() {
  if (!follow()) return;  // the events are not all read: next time
  const auto plan = parts_.link.values->get(kPlanKey);
  if (!plan) return;
  active_ = true;
  listener_.on_note(fmt::format("watching {} as the active watcher", place_.fabric.name()));
  // Where nobody was active meanwhile, it goes on.
  if (!watcher_ || led_until_ != events_.of_others() || version_in(*plan) != version_) begin_anew();
}

void WatchLoop::begin_anew() {
  events_.drop_unwritten();
  mapping_.reset();
  auto options = options_.watcher;
  options.secret = new_secret();
  if (!options_.read_plan) options.addresses = &place_.addresses;
  watcher_.emplace(place_.fabric, options);
  mutes_revision_ = 0;
  watcher_->restore(events_.last(), events_.last_incident(), now());
  events_.end_what_is_gone(parts_.wall());
  // Windows so far are of plans before its own.
  static_cast<void>(parts_.link.feed->skip());
  mapping_times_.ask(now());
  gathers_until_ = now() + options_.gather;
  adopt_shared();
}

/// Begins with the paths that the watcher before knew: they are mapped again soon.
void WatchLoop::adopt_shared() {
  const auto bytes = shared_.read();
  if (!bytes) return;
  auto plan = watch::decode_plan(place_.fabric, options_.limits, *bytes);
  if (plan) plan = engines_.only_probed(std::move(*plan), options_.limits);
  const auto places = ends();
  const auto has_place = [&](const watch::StandingNic& nic) { return places.contains(nic.nic); };
  if (!plan || !std::ranges::all_of(plan->nics, has_place)) return;
  const auto left_out = place_.fabric.nics().size() - plan->nics.size();
  if (!take_up({std::move(*plan), left_out})) return;
  mapping_times_.take_over(now());
}

void WatchLoop::step_down(std::string_view why) {
  active_ = false;
  led_until_ = events_.of_others();
  held_until_ = Nanoseconds(0);
  listener_.on_note(fmt::format("no longer the active watcher: {}", why));
}

void WatchLoop::lead() {
  map_paths();
  static_cast<void>(shared_.write_some());  // again in the next turn
  hear_agents();
  read_mutes();
  take_windows();
  const auto began = now();
  const auto actions = watcher_->tick(began, parts_.wall());
  if (const auto took = now() - began; took > milliseconds(1)) look_took_ = took;
  for (const auto& [host, assignment] : actions.assignments)
    static_cast<void>(parts_.link.feed->send_to(host, to_json_text(assignment)));
  if (actions.moved) listener_.on_note(watch::moved_text(place_.fabric, place_.addresses, *actions.moved));
  if (actions.ignores_traces)
    listener_.on_note(
        "routes move again and again, or packets are sprayed: for an hour mappings alone tell of them");
  // Who is missing in a plan that is being made says so again.
  if (actions.map_again && !mapping_) mapping_times_.ask_after_pause();
  events_.add(actions.events);
  listener_.on_pass(*watcher_, now());
  write_events();
}

void WatchLoop::map_paths() {
  if (mapping_) {
    auto mapped = mapping_->take();
    if (!mapped) return;
    mapping_.reset();
    mapping_times_.end(now());
    if (!*mapped) {
      listener_.on_note(fmt::format("paths could not be mapped: {}", mapped->error().message));
      mapping_times_.retry(now());
    } else {
      adopt(std::move(**mapped));
    }
  } else if (mapping_times_.is_due(now()) && !awaits_agents()) {
    if (watcher_->plan() == nullptr) listener_.on_note("mapping paths");
    mapping_times_.begin(now());
    mapping_.emplace(
        [map = parts_.map, heard = heard_](const std::stop_token& stop) { return map(heard, stop); });
  }
}

/// Agents that trace paths are waited for where they do; of paths that are read, here.
bool WatchLoop::awaits_agents() const {
  const auto is_missing = [&](const session::ExpectedHost& host) {
    return !heard_.contains(place_.fabric.name_of(host.host));
  };
  return options_.read_plan && watcher_->plan() == nullptr && now() < gathers_until_ &&
         std::ranges::any_of(place_.hosts, is_missing);
}

void WatchLoop::adopt(MappedPlan mapped) {
  mapping_times_.plan_next();
  const auto not_probed = engines_.not_probed(mapped.plan);
  mapped.plan = engines_.only_probed(std::move(mapped.plan), options_.limits);
  const bool is_same = watcher_->plan() != nullptr && same_ways(*watcher_->plan(), mapped.plan);
  auto record = is_same ? std::string() : watch::encode_plan(place_.fabric, mapped.plan, options_.limits);
  if (!is_same && !take_up(std::move(mapped))) return;
  watcher_->paths_known(mapping_times_.began());
  if (is_same) return;
  if (!not_probed.empty()) listener_.on_note(not_probed);
  if (const auto shared = shared_.set(std::move(record)); !shared) listener_.on_note(shared.error().message);
}

/// False: its version could not be agreed upon.
bool WatchLoop::take_up(MappedPlan mapped) {
  const auto version = next_version();
  if (!version) {
    mapping_times_.retry(now());
    listener_.on_note(version.error().message);
    return false;
  }
  version_ = *version;
  listener_.on_note(fmt::format(
      "plan {}: {} streams from {} NICs; {} channels are crossed by none, {} by few{}", version->value(),
      mapped.plan.rows, mapped.plan.nics.size(), mapped.plan.uncovered.size(), mapped.plan.thin.size(),
      mapped.left_out > 0 ? fmt::format("; {} NICs take no part", mapped.left_out) : ""));
  if (!mapped.plan.uncovered.empty()) listener_.on_note(not_watched(place_.fabric, mapped.plan.uncovered));
  watcher_->learned(std::move(mapped.plan), *version, ends(), now());
  return true;
}

/// Above all that any watcher of this fabric has given.
Result<watch::PlanVersion> WatchLoop::next_version() {
  WEFT_TRY(const auto stored, parts_.link.values->get(kPlanKey));
  const watch::PlanVersion next(version_in(stored).value() + 1);
  WEFT_TRY_VOID(parts_.link.values->put(kPlanKey, stored.revision, std::to_string(next.value())));
  return next;
}

watch::StandingEnds WatchLoop::ends() const {
  watch::StandingEnds all;
  for (const datapath::RunNic& nic : place_.nics) all[nic.nic].at = nic;
  for (const session::ExpectedHost& host : place_.hosts)
    for (const session::NicAssignment& nic : host.nics) all[nic.nic].interface = nic.interface;
  engines_.add_pairs(all);
  return all;
}

void WatchLoop::hear_agents() {
  for (const watch::AgentWord& word : parts_.link.feed->words()) {
    const auto speech = watch::read_speech(word.text);
    if (!speech) {
      watcher_->refuse(word.host);
    } else if (const auto* bye = std::get_if<watch::AgentBye>(&*speech)) {
      heard_.erase(word.host);
      watcher_->bye(word.host, bye->planned, now());
    } else if (const auto& hello = std::get<watch::AgentHello>(*speech); !watch::speaks(hello.protocol)) {
      note_stranger(word.host, hello);
    } else {
      heard_.insert(word.host);
      watcher_->hello(word.host, hello.plan, hello.epoch, now());
      watcher_->note_spool(word.host, hello.spooled, hello.dropped);
      note_engine(word.host, hello);
    }
  }
}

/// Also what it cannot probe from, once: it says so to nobody else that people read here.
void WatchLoop::note_engine(const std::string& host, const watch::AgentHello& hello) {
  const auto news = engines_.hear(host, hello);
  watcher_->pairs_are(news.moved);
  if (news.can_probe_others && watcher_->plan() != nullptr) mapping_times_.ask_soon();
  if (!place_.fabric.find_node(host)) return;
  Troubles& known = troubles_[host];
  if (known.reported_at && now() - *known.reported_at < kTroublesInterval) return;
  for (const std::string& trouble : hello.troubles) {
    if (std::ranges::find(known.told, trouble) != known.told.end()) continue;
    listener_.on_note(fmt::format("agent of {}: {}", host, trouble));
    known.reported_at = now();
  }
  known.told = hello.troubles;
}

/// A host is who its subject says, and tells of the NICs that the fabric gives it.
void WatchLoop::hear_counters() {
  for (watch::AgentWord& told : parts_.link.feed->counters()) {
    const auto host = place_.fabric.find_node(told.host);
    if (!host || !place_.fabric.is_host(*host)) continue;
    counters::HostPorts own{counters::host_source(told.host), {}};
    for (const PortId port : place_.fabric.ports_of(*host))
      if (const auto address = place_.addresses.address_of(port))
        own.ports.emplace(to_string(*address), port);
    listener_.on_counters(std::move(own), std::move(told.text));
  }
}

/// It gets no work: it would not understand it, or this watcher not what it tells.
void WatchLoop::note_stranger(const std::string& host, const watch::AgentHello& hello) {
  watcher_->refuse(host);
  if (!strangers_.insert(host).second) return;
  listener_.on_note(
      fmt::format("{}: its weft {} speaks protocol {}, this watcher {} and the one before: upgrade {}", host,
                  hello.version, hello.protocol, watch::kWatchProtocol,
                  hello.protocol > watch::kWatchProtocol ? "the watcher" : "the agent"));
}

void WatchLoop::read_mutes() {
  if (!mutes_.is_due(now())) return;
  const auto stored = parts_.link.values->get(kMutesKey);
  if (!stored || stored->revision == mutes_revision_) return;
  mutes_revision_ = stored->revision;
  const auto read = files::parse_mutes(place_.fabric, stored->text, "the list of mutes");
  if (!read) return listener_.on_note(read.error().message);
  for (const std::string& name : read->unknown)
    listener_.on_note(fmt::format("a mute names {}, which the fabric does not have", name));
  watcher_->mute(read->mutes);
}

void WatchLoop::take_windows() {
  const auto received = parts_.link.feed->fetch(kWindowsAtOnce, parts_.wait);
  if (!received) return std::this_thread::sleep_for(parts_.wait);  // the bus is away: it comes back by itself
  for (const watch::ReceivedWindow& one : *received) {
    const auto window = watch::decode_window(one.bytes);
    if (window) {
      watcher_->take(one.host, *window, now());
    } else {
      watcher_->refuse(one.host);
    }
  }
}

void WatchLoop::write_events() {
  // A process that was stopped meanwhile has lost its lease: whoever has it now writes.
  switch (events_.write([this] { return now() < held_until_; })) {
    case WatchEvents::Written::as_far_as_it_goes:
      return;
    case WatchEvents::Written::not_allowed:
      return step_down("its lease ran out");
    case WatchEvents::Written::refused:
      watcher_.reset();
      return step_down("another watcher wrote events meanwhile");
  }
}

/// Of the active watcher; and once more when it is so no longer.
void WatchLoop::report_state() {
  if (!watcher_ || !(active_ || was_active_) || !state_.is_due(now())) return;
  was_active_ = active_;
  listener_.on_state(watcher_->state(parts_.wall(), active_, look_took_));
}

}  // namespace weft::run
