#include "probes/discover/cable_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weft::discover {
namespace {

using files::CableEnd;

class ClaimSettler {
 public:
  ClaimSettler(std::vector<CableClaim> claims, const std::set<std::string>& devices)
      : claims_(std::move(claims)), devices_(devices) {}

  SettledClaims run() && {
    name_ports();
    fill_ports();
    merge();
    refused_.assign(claims_.size(), false);
    settle(true);
    refuse_plans();
    settle(false);
    SettledClaims settled{{}, std::move(disagreements_)};
    for (std::size_t c = 0; c < claims_.size(); ++c)
      if (!refused_[c]) settled.cables.push_back(std::move(claims_[c]));
    return settled;
  }

 private:
  /// What the own tables say: the far end of each port, and the ports that lead to each node.
  struct OwnTables {
    std::map<CableEnd, CableEnd> far;
    std::map<std::pair<std::string, std::string>, std::set<CableEnd>> between;  // of the first, to the second

    void add(const CableEnd& near, const CableEnd& there) {
      far.insert_or_assign(near, there);
      between[{near.node, there.node}].insert(near);
    }
  };

  /// Ports of devices whose own tables are known, by the names that these have for them.
  void name_ports() {
    OwnTables own;
    for (const CableClaim& claim : claims_) {
      if (claim.told_by.contains(claim.a.node)) own.add(claim.a, claim.b);
      if (claim.told_by.contains(claim.b.node)) own.add(claim.b, claim.a);
    }
    for (CableClaim& claim : claims_) {
      const CableEnd a = claim.a, b = claim.b;
      if (!claim.told_by.contains(a.node) && devices_.contains(a.node)) claim.a.port = own_name(a, b, own);
      if (!claim.told_by.contains(b.node) && devices_.contains(b.node)) claim.b.port = own_name(b, a, own);
    }
  }

  static std::string own_name(const CableEnd& end, const CableEnd& far, const OwnTables& own) {
    const auto there = own.between.find({end.node, far.node});
    if (own.far.contains(end) || there == own.between.end()) return end.port;
    std::vector<std::string> fitting;
    for (const CableEnd& port : there->second)
      if (own.far.at(port) == far) fitting.push_back(port.port);
    if (fitting.size() == 1) return fitting.front();
    const auto back = own.between.find({far.node, end.node});
    const bool only = there->second.size() == 1 && back != own.between.end() && back->second.size() == 1;
    return only ? there->second.begin()->port : end.port;  // the only cable between the two
  }

  /// An end without a port has the one that another record tells for the same far port.
  void fill_ports() {
    std::map<std::pair<CableEnd, std::string>, std::set<std::string>> ports;  // by far end and node
    for (const CableClaim& claim : claims_) {
      if (!claim.a.port.empty()) ports[{claim.b, claim.a.node}].insert(claim.a.port);
      if (!claim.b.port.empty()) ports[{claim.a, claim.b.node}].insert(claim.b.port);
    }
    const auto fill = [&](CableEnd& end, const CableEnd& far) {
      const auto at = ports.find({far, end.node});
      if (end.port.empty() && at != ports.end() && at->second.size() == 1) end.port = *at->second.begin();
    };
    for (CableClaim& claim : claims_) {
      fill(claim.a, claim.b);
      fill(claim.b, claim.a);
    }
  }

  void merge() {
    std::map<std::pair<CableEnd, CableEnd>, std::size_t> known;
    std::vector<CableClaim> merged;
    for (CableClaim& claim : claims_) {
      if (claim.b < claim.a) std::swap(claim.a, claim.b);
      const auto [at, is_new] = known.emplace(std::pair(claim.a, claim.b), merged.size());
      if (is_new) {
        merged.push_back(std::move(claim));
        continue;
      }
      CableClaim& one = merged[at->second];
      if (claim.is_live && !one.is_live) one.source = claim.source;
      one.is_live = one.is_live || claim.is_live;
      one.told_by.insert(claim.told_by.begin(), claim.told_by.end());
      if (!one.rate) one.rate = claim.rate;
    }
    claims_ = std::move(merged);
  }

  std::map<CableEnd, std::vector<std::size_t>> by_port(bool live) const {
    std::map<CableEnd, std::vector<std::size_t>> claims;
    for (std::size_t c = 0; c < claims_.size(); ++c)
      for (const CableEnd* end : {&claims_[c].a, &claims_[c].b})
        if (claims_[c].is_live == live && !refused_[c] && !end->port.empty()) claims[*end].push_back(c);
    return claims;
  }

  void settle(bool live) {
    for (const auto& [port, claims] : by_port(live)) {
      if (claims.size() < 2) continue;
      const auto by_both = [&](std::size_t c) { return claims_[c].told_by.size() == 2; };
      const bool settled = live && std::ranges::count_if(claims, by_both) == 1;
      for (std::size_t i = 1; i < claims.size(); ++i) say(port, claims.front(), claims[i]);
      for (const std::size_t c : claims)
        if (!settled || !by_both(c)) refused_[c] = true;
    }
  }

  /// What is on the wire, believed or not, goes before what is planned.
  void refuse_plans() {
    std::map<CableEnd, std::size_t> live;
    for (std::size_t c = 0; c < claims_.size(); ++c)
      for (const CableEnd* end : {&claims_[c].a, &claims_[c].b})
        if (claims_[c].is_live && !end->port.empty())
          if (const auto [at, is_new] = live.emplace(*end, c); !is_new && !refused_[c]) at->second = c;
    for (std::size_t c = 0; c < claims_.size(); ++c)
      for (const CableEnd* end : {&claims_[c].a, &claims_[c].b})
        if (const auto at = live.find(*end); !claims_[c].is_live && at != live.end()) {
          if (!refused_[c]) say(*end, at->second, c);
          refused_[c] = true;
        }
  }

  void say(const CableEnd& port, std::size_t one, std::size_t other) {
    const auto far = [&](std::size_t c) {
      return text_of(claims_[c].a == port ? claims_[c].b : claims_[c].a);
    };
    disagreements_.push_back(fmt::format("{}: {} says it leads to {}, {} to {}", text_of(port),
                                         claims_[one].source, far(one), claims_[other].source, far(other)));
  }

  std::vector<CableClaim> claims_;
  const std::set<std::string>& devices_;
  std::vector<bool> refused_;
  std::vector<std::string> disagreements_;
};

}  // namespace

SettledClaims settle_claims(std::vector<CableClaim> claims, const std::set<std::string>& devices) {
  return ClaimSettler(std::move(claims), devices).run();
}

std::string text_of(const files::CableEnd& end) {
  return end.port.empty() ? end.node : fmt::format("{} {}", end.node, end.port);
}

}  // namespace weft::discover
