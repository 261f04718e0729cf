#include "tests/support/blacklist_history.hpp"

#include <algorithm>
#include <limits>

#include "tests/support/model_site.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using namespace blacklist;
using namespace std::chrono_literals;

constexpr UtcTime kStart{std::chrono::seconds(1'800'000'000)};

/// What a draw is about: small fabrics, where few entries meet the caps.
const std::vector<Fabric>& fabrics() {
  static const std::vector<Fabric> all = [] {
    std::vector<Fabric> made;
    made.push_back(*make_clos({.name = "a", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}));
    made.push_back(*make_clos({.name = "b", .leaves = 3, .spines = 4, .hosts_per_leaf = 4}));
    made.push_back(*make_clos({.name = "c", .leaves = 2, .spines = 4, .hosts_per_leaf = 8}));
    made.push_back(
        *make_pod_clos({.name = "d", .pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 3}));
    return made;
  }();
  return all;
}

class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed),
        fabric_(fabrics()[below(fabrics().size())]),
        ledger_(fabric_, [this] { return fate(); }),
        slurm_(fabric_, policy_.caps, [this] { return fate(); }) {
    policy_.nic_action = below(2) ? NicAction::host : NicAction::rail;
    if (below(4) == 0) policy_.automatic[SubjectKind::host] = false;
    forgets_ = below(2) == 0;
    often_wrong_ = below(3) ? 0.0 : 0.15;
  }

  /// What broke; empty: nothing.
  std::string run() {
    for (std::size_t actions = 8 + below(20); actions > 0 && slurm_.broken().empty(); --actions) act();
    often_wrong_ = 0;
    // Whatever was left half done is completed or undone by the next run.
    sync();
    compare();
    end_all();
    sync();
    if (const auto left = slurm_.marked(); !left.empty())
      slurm_.break_rule(fmt::format("{} is marked after all was released", left.front()));
    for (const Entry& entry : ledger_.ledger().entries)
      if (!entry.marks.empty())
        slurm_.break_rule(fmt::format("entry {} has a mark after all was released", entry.id.value()));
    return slurm_.broken();
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double share() { return static_cast<double>(below(10'000)) / 10'000; }

  Fate fate() {
    if (share() >= often_wrong_) return Fate::well;
    constexpr Fate kWrong[] = {Fate::fails, Fate::fails_done, Fate::killed, Fate::killed_done};
    return kWrong[below(4)];
  }

  void act() {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return sync();
      case 3:
        return others();
      case 4:
      case 5:
        return step_with(run_of_probes(), {});
      case 6:
        return step_with({}, {command()});
      default:
        return step_with({}, {});
    }
  }

  Subject any_subject() {
    switch (below(4)) {
      case 0:
        return ChannelId(static_cast<std::uint32_t>(below(fabric_.channel_count())));
      case 1:
        return LinkId(static_cast<std::uint32_t>(below(fabric_.link_count())));
      case 2:
        return fabric_.nics()[below(fabric_.nics().size())];
      default:
        return NodeId(static_cast<std::uint32_t>(below(fabric_.node_count())));
    }
  }

  Evidence run_of_probes() {
    const auto end = now_.wall;
    Evidence evidence{.run = fmt::format("run{}", ++runs_),
                      .from = end - 20s,
                      .until = end,
                      .clean = std::vector(fabric_.channel_count(), true),
                      .shows_loss = 0.002};
    for (std::size_t n = below(below(6) ? 4 : 12); n > 0; --n) {
      const auto subject = any_subject();
      evidence.faults.push_back(
          {subject, Cause::loss, below(3) ? Verdict::degraded : Verdict::failed, 1.0 - 0.2 * share()});
      for (const ChannelId channel : channels_of(fabric_, subject)) evidence.clean[channel.value()] = false;
    }
    evidence.loaded = evidence.clean;
    return evidence;
  }

  Command command() {
    const EntryId id(1 + below(ledger_.ledger().last_id + 1));
    switch (below(6)) {
      case 0:
      case 1:
        return Add{any_subject(), Seconds(1 + below(7200)), below(9) ? "work" : "a \"word\"\nid=x:1", "ann"};
      case 2:
        return Release{id, "ann"};
      case 3:
        return Approve{id, "ann"};
      case 4:
        return Hold{id, "no", "ann"};
      default:
        return Resume{"ann"};
    }
  }

  void pass_time() {
    const Seconds passed(below(5) ? below(900) : below(20'000));
    now_.wall += passed, now_.uptime += passed, lived_ += passed;
    other_.wall += passed, other_.uptime += passed;
    if (below(12) == 0) now_.wall += Seconds(static_cast<long>(below(200'000)) - 100'000);  // a jump
    if (below(20) == 0) now_.boot = fmt::format("boot{}", ++boots_), now_.uptime = Seconds(below(100));
    if (below(12) == 0) std::swap(now_, other_);  // machines take turns
  }

  void step_with(std::optional<Evidence> evidence, std::vector<Command> commands) {
    pass_time();
    if (evidence) evidence->until = now_.wall, evidence->from = now_.wall - 20s;
    const std::vector<Evidence> all = evidence ? std::vector{*evidence} : std::vector<Evidence>();
    const Ledger before = ledger_.ledger();
    const auto now_seen = heard(all);
    Policy policy = policy_;
    if (forgets_ && all.empty()) policy.automatic.clear(), policy.clean = 1s;  // options that were not given
    guarded([&] {
      (void)ledger_.change(now_.wall, [&](Ledger ledger) -> Result<Stepped> {
        return step(std::move(ledger), fabric_, policy, all, commands, Mutes(), now_);
      });
    });
    look_at_times();
    look_at_grounds(before, now_seen);
  }

  /// What a run says of each effect: the highest confidence.
  using Seen = std::map<std::string, double>;
  std::string effect_of_subject(const Subject& subject) const {
    std::string text;
    const auto effect = effect_of(fabric_, subject, policy_.nic_action);
    for (const LinkId link : effect.links) text += fmt::format("l{} ", link.value());
    for (const PortId nic : effect.nics) text += fmt::format("n{} ", nic.value());
    for (const NodeId host : effect.hosts) text += fmt::format("h{} ", host.value());
    return text;
  }
  Seen heard(const std::vector<Evidence>& all) {
    Seen seen;
    for (const Evidence& evidence : all)
      for (const Fault& fault : evidence.faults) {
        auto& most = seen[effect_of_subject(fault.subject)];
        most = std::max(most, fault.confidence);
      }
    for (const auto& [effect, confidence] : seen) {
      grounds_[effect].runs += confidence >= policy_.confirmed ? 1 : 0;
      grounds_[effect].most = std::max(grounds_[effect].most, confidence);
    }
    return seen;
  }
  /// Nothing becomes active that nobody was sure of, nor by what was seen of a part of it or of something
  /// larger.
  void look_at_grounds(const Ledger& before, const Seen& now_seen) {
    for (const Entry& entry : ledger_.ledger().entries) {
      if (entry.state != EntryState::active || entry.by_hand || entry.approved) continue;
      const Entry* was = find(before, entry.id);
      if (was && was->state == EntryState::active) continue;
      const auto effect = effect_of_subject(*find_subject(fabric_, entry.subject));
      const Grounds& grounds = grounds_[effect];
      const auto seen = now_seen.find(effect);
      const bool is_back = was && was->state == EntryState::probation && !was->by_hand &&
                           (was->relapsed || (seen != now_seen.end() && seen->second >= 0.5));
      if (!is_back && grounds.most < policy_.sure && grounds.runs < 2)
        slurm_.break_rule(fmt::format("entry {} is active by {} runs, {} at most", entry.id.value(),
                                      grounds.runs, grounds.most));
      if (entry.needs_approval && !is_back)
        slurm_.break_rule(fmt::format("entry {} is active without its approval", entry.id.value()));
    }
  }

  /// The ledger's own time never runs ahead of the time that passed, and what was added for a time ends by
  /// it.
  void look_at_times() {
    const Ledger& ledger = ledger_.ledger();
    if (ledger.time > lived_ + Seconds(600) * (boots_ + 1) + Seconds(1))
      slurm_.break_rule(fmt::format("the ledger counted {} s of {}", ledger.time.count(), lived_.count()));
    for (const Entry& entry : ledger.entries)
      if (entry.state == EntryState::active && entry.ends && ledger.time >= *entry.ends)
        slurm_.break_rule(fmt::format("entry {} outlived its time", entry.id.value()));
  }

  void others() {
    auto at = slurm_.nodes().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(slurm_.nodes().size())));
    switch (below(4)) {
      case 0:
        if (at->second.reason.empty()) foreign_[at->first] = "disk";
        if (at->second.reason.empty()) slurm_.drain(at->first, "disk");
        return;
      case 1:
        foreign_[at->first] = "maintenance id=z:1";
        return slurm_.drain(at->first, foreign_[at->first]);
      case 2:
        foreign_.erase(at->first);
        return slurm_.resume(at->first);
      default:
        return slurm_.reconfigure();
    }
  }

  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const Killed&) {
    }
  }

  void sync() {
    guarded([&] {
      const exports::Site site{fabric_,           policy_, ledger_, slurm_, [this] { return now_; },
                               [](const auto&) {}};
      auto ledger = ledger_.read();
      if (!ledger) return;
      auto look = look_at(site, std::move(*ledger));
      if (look) (void)exports::apply(site, *look);
    });
    for (const auto& [host, reason] : foreign_)
      if (slurm_.nodes().at(host).reason != reason)
        slurm_.break_rule(
            fmt::format("{}: '{}' of others became '{}'", host, reason, slurm_.nodes().at(host).reason));
  }

  /// After a sync that met nothing wrong: what is marked and what the ledger says are one.
  void compare() {
    const auto marked = slurm_.marked();
    std::map<std::string, int> known;
    for (const Entry& entry : ledger_.ledger().entries)
      for (const Mark& mark : entry.marks) {
        ++known[mark.object];
        if (!mark.read_back)
          slurm_.break_rule(
              fmt::format("{}: an intent of entry {} is left: {}", mark.object, entry.id.value(), mark.set));
        if (entry.state != EntryState::active)
          slurm_.break_rule(fmt::format("{}: a mark of entry {}, which is {}", mark.object, entry.id.value(),
                                        to_string(entry.state)));
      }
    for (const std::string& object : marked)
      if (!known.erase(object))
        slurm_.break_rule(fmt::format("{}: marked, and the ledger does not know", object));
    if (!known.empty())
      slurm_.break_rule(fmt::format("{}: the ledger knows a mark that is not there", known.begin()->first));
  }

  void end_all() {
    std::vector<Command> commands;
    for (const Entry& entry : ledger_.ledger().entries)
      if (entry.state != EntryState::released) commands.push_back(Release{entry.id, "ann"});
    step_with(std::nullopt, commands);
  }

  std::mt19937_64 random_;
  double often_wrong_ = 0;
  bool forgets_ = false;
  const Fabric& fabric_;
  Policy policy_;
  ModelLedger ledger_;
  ModelSlurm slurm_;
  Now now_{kStart, 100s, "boot"}, other_{kStart + 3min, 9h, "of another machine"};
  Seconds lived_{};
  int boots_ = 0, runs_ = 0;
  std::map<std::string, std::string> foreign_;  // reasons of others, by host
  struct Grounds {
    int runs = 0;     // of some confidence
    double most = 0;  // the highest
  };
  std::map<std::string, Grounds> grounds_;  // by effect
};

/// Hosts to be drained, one to come back and a mark to be passed on, killed at call `at` (after: once it was
/// done). Whether the next run leaves what the ledger demands and no more; `calls` is how many there were.
bool survives(std::size_t at, bool after, std::size_t& calls) {
  static const Fabric fabric = *make_clos({.name = "e", .leaves = 4, .spines = 4, .hosts_per_leaf = 16});
  const Policy policy;
  std::size_t count = 0;
  bool is_armed = false;
  const Fates fates = [&] {
    const bool is_now = is_armed && count == at;
    if (is_armed) ++count;
    return !is_now ? Fate::well : after ? Fate::killed_done : Fate::killed;
  };
  ModelLedger ledger(fabric, fates);
  ModelSlurm slurm(fabric, policy.caps, fates);
  Now now{kStart, 100s, "boot"};
  const exports::Site site{fabric, policy, ledger, slurm, [&] { return now; }, [](const auto&) {}};
  const auto change = [&](std::vector<Command> commands) {
    now.wall += 60s, now.uptime += 60s;
    (void)ledger.change(now.wall, [&](Ledger read) -> Result<Stepped> {
      return step(std::move(read), fabric, policy, {}, commands, Mutes(), now);
    });
  };
  const auto sync = [&] {
    auto look = look_at(site, *ledger.read());
    if (look) (void)exports::apply(site, *look);
  };
  const auto host = [&](const char* name) { return *parse_subject(fabric, name); };
  change({Add{host("host1"), 4h, "a", "ann"}, Add{host("host2"), 4h, "b", "ann"},
          Add{host("host2--leaf1"), 4h, "c", "ann"}});
  sync();
  change({Release{EntryId(1), "ann"}, Release{EntryId(2), "ann"}, Add{host("host9"), 4h, "d", "ann"},
          Add{host("host10"), 4h, "e", "ann"}});
  is_armed = true;
  try {
    sync();
  } catch (const Killed&) {
  }
  calls = count;
  is_armed = false;
  sync();
  auto marked = slurm.marked();
  std::ranges::sort(marked);
  bool is_right = marked == std::vector<std::string>{"host10", "host2", "host9"} && slurm.broken().empty();
  for (const Entry& entry : ledger.ledger().entries)
    for (const Mark& mark : entry.marks)
      is_right = is_right && mark.read_back && entry.state == EntryState::active;
  return is_right;
}

}  // namespace

std::string run_blacklist_history(std::uint64_t seed) { return History(seed).run(); }

KillPoints try_kill_points() {
  KillPoints points;
  std::size_t calls = 0;
  survives(std::numeric_limits<std::size_t>::max(), false, calls);
  const std::size_t all = calls;
  for (std::size_t at = 0; at < all; ++at)
    for (const bool after : {false, true}) ++points.all, points.right += survives(at, after, calls) ? 1 : 0;
  return points;
}

}  // namespace weft
