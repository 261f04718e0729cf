#include "collectors/nccl/slow.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "topology/base/statistics.hpp"

namespace weft::nccl {
namespace {

/// Of the time that a collective lost, what a place must account for to be named.
constexpr double kMinPart = .3;
/// Of the time of its operations, what a place that is slow all the time waits for.
constexpr double kMinShare = .25;

/// An operation with what its collective and its communicator say.
struct Seen {
  const ProfileOperation* operation = nullptr;
  const ProfileCollective* collective = nullptr;
  const ProfileCommunicator* communicator = nullptr;
  std::int64_t rank() const { return communicator->rank; }
};

using Kind = std::tuple<std::string, std::string, std::uint64_t, std::string, std::string, std::string>;
using Instance = std::tuple<std::string, std::string, std::uint64_t>;  // communicator, function, sequence

Kind kind_of(const Seen& seen) {
  const auto& of = *seen.collective;
  return {seen.communicator->id, of.function, of.count, of.type, of.algorithm, of.protocol};
}

/// By direction and wait.
using Waits = std::array<std::array<double, kWaits>, 2>;

struct Usual {
  double seconds = 0;
  Waits waits{};
};

class OneCollective {
 public:
  void add(const Seen& seen) { all_.push_back(seen); }
  const std::vector<Seen>& all() const { return all_; }
  double seconds() const {
    double longest = 0;
    for (const Seen& seen : all_)
      longest = std::max(longest, static_cast<double>(seen.operation->took.count()) / 1e9);
    return longest;
  }

  /// Where its time beyond what is usual went.
  std::pair<SlowPlace, double> lost(const Usual& usual) const {
    const double enough = (seconds() - usual.seconds) * kMinPart;
    for (const SlowCause cause : {SlowCause::network, SlowCause::gpu, SlowCause::peer, SlowCause::data}) {
      std::pair<SlowPlace, double> most{{cause, -1, -1}, 0};
      for (const Seen& seen : all_) {
        const double more = more_than_usual(seen, cause, usual);
        if (more > most.second)
          most = {{cause, seen.rank(), cause == SlowCause::gpu ? -1 : seen.operation->peer}, more};
      }
      if (most.second >= enough && most.second > 0) return most;
    }
    return {{}, 0};
  }

 private:
  /// The operation of the other end on the same channel; null: it tells nothing.
  const Seen* other_end(const Seen& seen) const {
    const auto found = std::ranges::find_if(all_, [&](const Seen& other) {
      return other.rank() == seen.operation->peer && other.operation->peer == seen.rank() &&
             other.operation->sends != seen.operation->sends &&
             other.operation->channel == seen.operation->channel;
    });
    return found == all_.end() ? nullptr : &*found;
  }
  bool receives(std::int64_t rank) const {
    return std::ranges::any_of(
        all_, [&](const Seen& seen) { return seen.rank() == rank && !seen.operation->sends; });
  }

  double more_than_usual(const Seen& seen, SlowCause cause, const Usual& usual) const {
    const ProfileOperation& operation = *seen.operation;
    const auto more = [&](Wait wait) {
      return operation.seconds(wait) - usual.waits[operation.sends ? 1 : 0][static_cast<std::size_t>(wait)];
    };
    switch (cause) {
      case SlowCause::network: {
        if (!operation.sends) return 0;
        // Where what arrives waits for the GPU of the receiver, the network is held up by it.
        const Seen* const other = other_end(seen);
        const bool is_held =
            other != nullptr && other->operation->seconds(Wait::gpu) > other->operation->seconds(Wait::data);
        return is_held ? 0 : more(Wait::network);
      }
      case SlowCause::gpu:
        // A sender's GPU may wait for what its rank receives.
        return operation.sends && receives(seen.rank()) ? 0 : more(Wait::gpu);
      case SlowCause::peer:
        return operation.sends ? more(Wait::peer) : 0;
      case SlowCause::data:
        return operation.sends || other_end(seen) != nullptr ? 0 : more(Wait::data);
      case SlowCause::unclear:
        return 0;
    }
    return 0;
  }

  std::vector<Seen> all_;
};

std::map<Instance, OneCollective> by_collective(const std::vector<RankProfile>& profiles) {
  std::map<Instance, OneCollective> all;
  for (const RankProfile& profile : profiles)
    for (const ProfileOperation& operation : profile.operations) {
      const auto& collective = profile.collectives[operation.collective];
      const auto& communicator = profile.communicators[collective.communicator];
      // Sends and receives are numbered by their process alone.
      if (collective.algorithm.empty()) continue;
      all[{communicator.id, collective.function, collective.sequence}].add(
          {&operation, &collective, &communicator});
    }
  return all;
}

std::map<Kind, Usual> usual_times(const std::map<Instance, OneCollective>& all) {
  struct Samples {
    std::vector<double> seconds;
    std::array<std::array<std::vector<double>, kWaits>, 2> waits;
  };
  std::map<Kind, Samples> samples;
  for (const auto& [key, one] : all) {
    Samples& of_kind = samples[kind_of(one.all().front())];
    of_kind.seconds.push_back(one.seconds());
    for (const Seen& seen : one.all())
      for (std::size_t i = 0; i < kWaits; ++i)
        of_kind.waits[seen.operation->sends ? 1 : 0][i].push_back(
            seen.operation->seconds(static_cast<Wait>(i)));
  }
  std::map<Kind, Usual> usual;
  for (auto& [kind, of_kind] : samples) {
    if (of_kind.seconds.size() < kMinOfKind) continue;
    Usual& made = usual[kind];
    made.seconds = median(of_kind.seconds);
    for (std::size_t sends = 0; sends < 2; ++sends)
      for (std::size_t i = 0; i < kWaits; ++i)
        if (auto& values = of_kind.waits[sends][i]; !values.empty()) made.waits[sends][i] = median(values);
  }
  return usual;
}

void find_slow(const std::map<Instance, OneCollective>& all, SlowReport& report) {
  const auto usual = usual_times(all);
  for (const auto& [key, one] : all) {
    const Seen& first = one.all().front();
    const auto found = usual.find(kind_of(first));
    if (found == usual.end()) continue;
    const double seconds = one.seconds();
    if (seconds <= kSlowFactor * found->second.seconds || seconds - found->second.seconds < kMinLost)
      continue;
    const auto [place, lost] = one.lost(found->second);
    report.slow.push_back({first.communicator->id, first.collective->function, first.collective->sequence,
                           first.collective->count, first.collective->type,
                           first.collective->algorithm + " " + first.collective->protocol, seconds,
                           found->second.seconds, place, lost});
  }
  std::ranges::stable_sort(report.slow, std::greater(),
                           [](const auto& slow) { return slow.seconds - slow.usual; });
}

/// What the operations of one place waited, over all collectives.
struct Sum {
  double steps = 0;
  double waited = 0;
  double against = 0;  // what would say that it is not this place
  double took = 0;
};

void add_standing(const std::string& communicator, const std::map<SlowPlace, Sum>& sums, SlowReport& report) {
  std::map<SlowCause, std::vector<double>> values;
  for (const auto& [place, sum] : sums)
    if (sum.steps > 0) values[place.cause].push_back(sum.waited / sum.steps);
  for (const auto& [place, sum] : sums) {
    auto& of_cause = values[place.cause];
    if (of_cause.size() < kMinPlaces || sum.steps <= 0) continue;
    const double usual = median(of_cause);
    const double mine = sum.waited / sum.steps;
    if (mine > kSlowFactor * usual && mine - usual >= kMinLost && sum.waited > kMinShare * sum.took &&
        sum.against <= sum.waited)
      report.standing.push_back({communicator, place, mine, usual});
  }
}

void find_standing(const std::map<Instance, OneCollective>& all, SlowReport& report) {
  std::map<std::string, std::map<SlowPlace, Sum>> sums;
  for (const auto& [key, one] : all)
    for (const Seen& seen : one.all()) {
      const ProfileOperation& of = *seen.operation;
      auto& places = sums[seen.communicator->id];
      const double took = static_cast<double>(of.took.count()) / 1e9;
      if (of.sends) {
        Sum& pair = places[{SlowCause::network, seen.rank(), of.peer}];
        pair.steps += static_cast<double>(of.steps);
        pair.waited += of.seconds(Wait::network);
        pair.took += took;
      } else {
        Sum& gpu = places[{SlowCause::gpu, seen.rank(), -1}];
        gpu.steps += static_cast<double>(of.steps);
        gpu.waited += of.seconds(Wait::gpu);
        gpu.took += took;
        places[{SlowCause::network, of.peer, seen.rank()}].against +=
            of.seconds(Wait::gpu) - of.seconds(Wait::data);
      }
    }
  for (const auto& [communicator, places] : sums) add_standing(communicator, places, report);
  std::ranges::stable_sort(report.standing, std::greater(),
                           [](const auto& place) { return place.seconds - place.usual; });
}

void find_never(const std::vector<RankProfile>& profiles, SlowReport& report) {
  for (const RankProfile& profile : profiles)
    for (const ProfileWaiting& waiting : profile.waiting) {
      const auto& collective = profile.collectives[waiting.collective];
      const auto& communicator = profile.communicators[collective.communicator];
      report.never.push_back({communicator.id, collective.function, collective.sequence, communicator.rank,
                              waiting.peer, waiting.sends, waiting.wait,
                              static_cast<double>(waiting.since.count()) / 1e9});
    }
  std::ranges::stable_sort(report.never, std::greater(), &NeverEnded::seconds);
}

void compare_tuners(const std::vector<RankProfile>& profiles, SlowReport& report) {
  std::map<std::string, std::map<std::string, std::int64_t>> tables;  // communicator: table: a rank
  for (const RankProfile& profile : profiles)
    for (const auto& communicator : profile.communicators)
      tables[communicator.id].emplace(communicator.tuner, communicator.rank);
  for (const auto& [communicator, of] : tables)
    if (of.size() > 1)
      report.notes.push_back(
          fmt::format("ranks {} and {} of communicator {} have different tuner tables: NCCL may choose "
                      "differently on them, and hang",
                      of.begin()->second, std::next(of.begin())->second, communicator));
}

}  // namespace

std::string_view to_string(SlowCause cause) {
  switch (cause) {
    case SlowCause::network:
      return "network";
    case SlowCause::gpu:
      return "gpu";
    case SlowCause::peer:
      return "peer";
    case SlowCause::data:
      return "data";
    case SlowCause::unclear:
      return "unclear";
  }
  return "";
}

SlowReport explain_slow(const std::vector<RankProfile>& profiles) {
  SlowReport report;
  std::set<std::pair<std::string, std::int64_t>> ranks;
  std::set<std::string> communicators;
  for (const RankProfile& profile : profiles) {
    for (const auto& communicator : profile.communicators) {
      ranks.emplace(communicator.id, communicator.rank);
      communicators.insert(communicator.id);
    }
    report.operations += profile.operations.size();
    report.dropped += profile.dropped;
    report.unread += profile.unread;
  }
  report.ranks = ranks.size();
  report.communicators = communicators.size();
  const auto all = by_collective(profiles);
  report.collectives = all.size();
  find_slow(all, report);
  find_standing(all, report);
  find_never(profiles, report);
  compare_tuners(profiles, report);
  return report;
}

}  // namespace weft::nccl
