#include "collectors/nccl/proxy_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collectors/nccl/job.hpp"
#include "topology/base/json_limits.hpp"

namespace weft::nccl {
namespace {

constexpr JsonLimits kLimits{.bytes = 16'000'000, .depth = 16, .values = 1'000'000};
constexpr std::size_t kMaxActive = 10'000;  // of a communicator
constexpr std::size_t kMaxWaits = 1'000'000;

/// The ranks of one communicator, as those dumps tell them that have it.
class Communicator {
 public:
  void add(Rank own, Rank of_job) {
    const auto [at, is_new] = members_.try_emplace(own, of_job);
    contradictory_ = contradictory_ || (!is_new && at->second != of_job);
  }

  /// Absent: not known.
  std::optional<Rank> find(const Job& job, Rank remote) {
    if (contradictory_ || members_.empty()) return std::nullopt;
    if (const auto found = members_.find(remote); found != members_.end()) return found->second;
    const auto [at, is_new] = by_group_.try_emplace(remote);
    if (is_new) at->second = in_groups(job, remote);
    return at->second;
  }

 private:
  /// Rank i of a communicator is its group's i-th: of all groups that have those who told at their places.
  std::optional<Rank> in_groups(const Job& job, Rank remote) const {
    std::optional<Rank> found;
    for (const JobGroup& group : job.groups()) {
      const auto has = [&](const auto& told) {
        return told.first < group.members.size() && group.members[told.first].rank == told.second;
      };
      if (!group.members_known || remote >= group.members.size() || !std::ranges::all_of(members_, has))
        continue;
      const Rank rank = group.members[remote].rank;
      if (found && *found != rank) return std::nullopt;
      found = rank;
    }
    return found;
  }

  std::map<Rank, Rank> members_;                  // of the job, by their number in the communicator
  std::map<Rank, std::optional<Rank>> by_group_;  // of those whose dump is missing
  bool contradictory_ = false;
};

std::optional<ActiveTransfer> read_transfer(const nlohmann::json& one) {
  if (!one.is_object()) return std::nullopt;
  const auto remote = one.find("remoteRank");
  const auto channel = one.find("channelId");
  const auto type = one.find("opType");
  if (remote == one.end() || !remote->is_number_unsigned() || remote->get<std::uint64_t>() > kMaxRank ||
      channel == one.end() || !channel->is_number_unsigned() || channel->get<std::uint64_t>() > UINT32_MAX ||
      type == one.end() || (*type != "SEND" && *type != "RECV"))
    return std::nullopt;
  return ActiveTransfer{remote->get<Rank>(), channel->get<std::uint32_t>(), *type == "SEND"};
}

}  // namespace

bool read_active(std::string_view text, std::vector<ActiveTransfer>& active) {
  if (!check_json_limits(text, kLimits)) return false;
  const auto all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_array()) return false;
  bool is_whole = true;
  for (const auto& one : all) {
    const auto transfer = read_transfer(one);
    const bool is_taken = transfer && active.size() < kMaxActive;
    if (is_taken) active.push_back(*transfer);
    is_whole = is_whole && is_taken;
  }
  return is_whole;
}

std::string to_string(const ProxyWait& wait) {
  return wait.sends ? fmt::format("rank {} waits on channel {} to send to rank {}", wait.rank, wait.channel,
                                  wait.remote)
                    : fmt::format("rank {} waits on channel {} for what rank {} sends", wait.rank,
                                  wait.channel, wait.remote);
}

ProxyWaits::ProxyWaits(const Job& job) {
  std::map<std::string_view, Communicator> communicators;
  for (const Rank rank : job.ranks()) {
    const FlightDump* const dump = job.dump_of(rank);
    if (dump == nullptr || dump->proxies.empty()) continue;
    for (const ProxyState& state : dump->proxies)
      if (state.rank) communicators[state.communicator].add(*state.rank, rank);
    if (std::ranges::all_of(dump->proxies,
                            [](const ProxyState& state) { return state.is_whole && state.active.empty(); }))
      idle_.insert(rank);
  }
  for (const Rank rank : job.ranks()) {
    const FlightDump* const dump = job.dump_of(rank);
    if (dump == nullptr) continue;
    for (const ProxyState& state : dump->proxies)
      for (const ActiveTransfer& transfer : state.active) {
        ++under_way_;
        const auto remote = communicators[state.communicator].find(job, transfer.remote);
        if (!remote || *remote == rank || all_.size() == kMaxWaits) continue;
        by_remote_.emplace(*remote, all_.size());
        all_.push_back({rank, *remote, transfer.channel, transfer.sends});
      }
  }
}

std::vector<ProxyWait> ProxyWaits::for_rank(Rank remote) const {
  std::vector<ProxyWait> found;
  for (auto [at, end] = by_remote_.equal_range(remote); at != end; ++at) found.push_back(all_[at->second]);
  return found;
}

bool ProxyWaits::has(Rank rank, Rank remote, bool sends) const {
  const auto [from, end] = by_remote_.equal_range(remote);
  return std::any_of(from, end, [&](const auto& at) {
    return all_[at.second].rank == rank && all_[at.second].sends == sends;
  });
}

}  // namespace weft::nccl
