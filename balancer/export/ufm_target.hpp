// UfmTarget: takes cables of an InfiniBand fabric out of its routes by NVIDIA UFM Enterprise: their ports are
// marked as unhealthy with the action `isolate`, and as healthy to come back. UFM keeps no text with a port,
// so that a mark is ours where the ledger has it; what others isolated is left alone.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "balancer/export/rest_api.hpp"
#include "balancer/export/translate.hpp"
#include "balancer/export/ufm_links.hpp"

namespace weft::exports {

/// The REST interface: where it is, and what is shown to it.
struct UfmServer {
  std::string url;  // as of RestServer
  /// A token, or a user with a password; both files closed to others.
  std::filesystem::path token{};
  std::string user{};
  std::filesystem::path password{};
  std::filesystem::path ca{};                    // as of RestServer
  Nanoseconds limit = std::chrono::seconds(10);  // of one call with its repetitions
};

/// An open server: paths of calls begin with `root`, by how it is told who asks ("Authentication" of the
/// guide): /ufmRest with a user, /ufmRestV3 with a token.
struct UfmApi {
  std::unique_ptr<RestApi> rest;
  std::string root;
  CurlPlace by_hand;  // the same, as an operator reaches it
};

/// Reads token or password; nothing is connected yet. Errors: those of RestApi::open, not_found, permission,
/// invalid_input (token, user or password).
Result<UfmApi> open_ufm_api(const UfmServer& server);

/// How long UFM may take until it lists what it was asked for, by whose clock.
struct UfmWait {
  std::function<Nanoseconds()> now;  // of a clock that does not jump
  std::function<void(Nanoseconds)> sleep;
  Nanoseconds limit = std::chrono::seconds(60);    // of OpenSM's sweep with all of its changes
  Nanoseconds interval = std::chrono::seconds(1);  // between two looks
};
/// By the clock of the machine.
UfmWait wait_of_machine();

/// How long the list of unhealthy ports may lack what is isolated, as while another server of a pair takes
/// over: three syncs of a timer that starts one each five minutes.
inline constexpr auto kUfmLag = std::chrono::minutes(15);

/// Cables that may be isolated at a time where nobody says.
inline constexpr std::size_t kMaxIsolated = 8;

class UfmTarget : public Target {
 public:
  /// The fabric must outlive it. `max_isolated`: cables, by whomever they are isolated.
  UfmTarget(const Fabric& fabric, UfmApi api, UfmWait wait, std::size_t max_isolated = kMaxIsolated)
      : fabric_(fabric), api_(std::move(api)), wait_(std::move(wait)), max_isolated_(max_isolated) {}

  std::string_view name() const override { return "ufm"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_ufm(ledger, fabric, policy);
  }
  Result<void> check_rights() override;
  /// Also of cables that nobody asked for and that are out of use: they count for the caps.
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  std::vector<std::string> prepare(std::span<Change> changes) override;
  /// Ends when UFM lists what was asked for, or after the time for that.
  Result<void> apply(std::span<const Change> changes) override;
  std::chrono::seconds lag() const override { return kUfmLag; }
  std::optional<std::string> left_behind(const std::string& object, const std::string& set) const override;
  std::string by_hand(const Change& change) const override;

 private:
  struct EndOfLink {
    LinkId link;
    UfmEnd end;
  };
  struct Ask {
    UfmEnd end;
    bool isolates = false;
  };
  RestCall put_call(std::string body) const;
  Result<UnhealthyPorts> read_unhealthy();
  /// Which link, and at which end, by what read() saw.
  Result<EndOfLink> end_of(const Change& change) const;
  /// What is to be asked, where nothing speaks against it; each with those before it out of use.
  std::vector<Ask> plan(std::span<const Change> changes, Failures& failures);
  Result<void> wait_for(const std::vector<Ask>& asked);
  std::string typed(const UfmPortId& port, bool isolates) const;

  const Fabric& fabric_;
  UfmApi api_;
  UfmWait wait_;
  std::size_t max_isolated_;
  std::optional<UfmLinks> links_;  // as read() saw them
};

}  // namespace weft::exports
