#include "probes/diagnosis/host/silent_corruption.hpp"

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// A NIC as sender or as receiver.
struct Side {
  PortId nic;
  bool sends = false;
  friend auto operator<=>(const Side&, const Side&) = default;
};

struct Account {
  std::size_t bad = 0;
  std::size_t good = 0;
  std::uint64_t differing = 0;
  std::optional<std::uint64_t> first = std::nullopt;
  double share() const { return static_cast<double>(bad) / static_cast<double>(bad + good); }
};
using Accounts = std::map<Side, Account>;

Side sender(const VerifiedTransfer& transfer) { return {transfer.from, true}; }
Side receiver(const VerifiedTransfer& transfer) { return {transfer.to, false}; }

/// What every side took part in; of the bad transfers only those that `open` still holds.
Accounts account_for(const std::vector<VerifiedTransfer>& transfers, const std::vector<bool>& open) {
  Accounts accounts;
  for (std::size_t i = 0; i < transfers.size(); ++i)
    for (const Side& side : {sender(transfers[i]), receiver(transfers[i])}) {
      Account& account = accounts[side];
      if (!transfers[i].differs) ++account.good;
      if (!open[i]) continue;
      ++account.bad;
      account.differing += transfers[i].differing;
      if (!account.first) account.first = transfers[i].first;
    }
  std::erase_if(accounts, [](const auto& entry) { return entry.second.bad == 0; });
  return accounts;
}

/// The sides that explain best: the largest share of bad transfers, then the most of them. More than one when
/// nothing tells them apart.
std::vector<Side> most_suspect(const Accounts& accounts) {
  const auto weight = [](const Account& a) { return std::pair(a.share(), a.bad); };
  std::vector<Side> best;
  std::pair<double, std::size_t> most{};
  for (const auto& [side, account] : accounts) {
    if (weight(account) > most) best.clear();
    most = std::max(most, weight(account));
    if (weight(account) == most) best.push_back(side);
  }
  return best;
}

bool takes_part(const VerifiedTransfer& transfer, const Side& side) {
  return sender(transfer) == side || receiver(transfer) == side;
}

/// True when another of the suspects took part in the very same bad transfers.
bool has_twin(const Side& side, const std::vector<Side>& suspects,
              const std::vector<VerifiedTransfer>& transfers, const std::vector<bool>& open) {
  return std::ranges::any_of(suspects, [&](const Side& other) {
    if (other == side) return false;
    for (std::size_t i = 0; i < transfers.size(); ++i)
      if (open[i] && takes_part(transfers[i], side) != takes_part(transfers[i], other)) return false;
    return true;
  });
}

std::string describe(const Side& side, const Account& account, bool alone) {
  const auto bytes = account.differing > 0 ? fmt::format("{} bytes", account.differing) : "bytes";
  auto text = fmt::format(
      "silent corruption: {} {} differ in {} of {} transfers that passed every check of the wire", bytes,
      side.sends ? "sent from it" : "received by it", account.bad, account.bad + account.good);
  if (account.first) text += fmt::format(", the first at offset {}", *account.first);
  return text + (alone ? "; test its memory and PCIe link"
                       : "; sender or receiver: these transfers cannot tell which");
}

}  // namespace

std::vector<HostEvidence> silent_corruption(const Fabric& fabric,
                                            const std::vector<VerifiedTransfer>& transfers) {
  std::vector<bool> open;
  for (const VerifiedTransfer& transfer : transfers) open.push_back(transfer.differs);
  std::map<PortId, HostEvidence> found;
  while (std::ranges::count(open, true) > 0) {
    const auto accounts = account_for(transfers, open);
    const auto sides = most_suspect(accounts);
    // Each round closes the bad transfers of at least one side: no more rounds than transfers.
    const auto before = open;
    for (const Side& side : sides) {
      found.emplace(
          side.nic,
          HostEvidence{fabric.port(side.nic).node, side.nic, Verdict::failed, Cause::corruption,
                       describe(side, accounts.at(side), !has_twin(side, sides, transfers, before))});
      for (std::size_t i = 0; i < transfers.size(); ++i)
        if (takes_part(transfers[i], side)) open[i] = false;
    }
  }
  std::vector<HostEvidence> evidence;
  for (auto& [nic, one] : found) evidence.push_back(std::move(one));
  return evidence;
}

}  // namespace weft::diagnosis
