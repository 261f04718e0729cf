#include "balancer/export/ufm_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "balancer/export/link_standings.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::exports {
namespace {

constexpr auto kMaxAnswer = Bytes(64'000'000);  // some 40,000 ports
/// What the user manual calls the roles that manage unhealthy ports ("User Management").
constexpr const char* kRight =
    "its user may not do that: give it the role Fabric Admin (or System Admin) in UFM";

constexpr int kMaxSilent = 3;  // calls in a row without an answer: the server may be away

/// Ours, as far as UFM tells, where the ledger has that very mark: what the subnet manager reports may have
/// taken its place, and ours be beneath it.
bool is_off(const UfmLinks::Seen& seen) {
  return seen.state == UfmLinks::State::isolated || seen.state == UfmLinks::State::reported;
}

/// Printable ASCII: of other characters a server may take other bytes for the same password.
bool is_plain(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Result<std::string> read_password(const std::filesystem::path& file) {
  WEFT_TRY(auto text, os::read_private_file(file, "the password", kMaxCredential));
  auto password = os::without_line_end(std::move(text));
  if (is_plain(password)) return password;
  return fail(ErrorKind::invalid_input, "{} holds no password of printable ASCII",
              outside_text(file.string()));
}

}  // namespace

Result<UfmApi> open_ufm_api(const UfmServer& server) {
  RestServer rest{.url = server.url, .ca = server.ca, .limit = server.limit, .max_answer = kMaxAnswer};
  rest.right = kRight;
  rest.read_refusal = [](std::string_view body) { return RestRefusal{ufm_message(body), false}; };
  if (!server.token.empty()) {
    WEFT_TRY(auto text, os::read_private_file(server.token, "the token", kMaxCredential));
    WEFT_TRY(const auto token, token_in(std::move(text), server.token));
    rest.authorization = "Basic " + token;  // as the guide has it, for tokens too
    rest.secrets = {token};
  } else {
    if (!is_plain(server.user) || server.user.find(':') != std::string::npos)
      return fail(ErrorKind::usage, "'{}' is no name of a user of UFM", outside_text(server.user));
    WEFT_TRY(const auto password, read_password(server.password));
    rest.authorization = basic_authorization(server.user, password);
    rest.secrets = {password, rest.authorization.substr(rest.authorization.find(' ') + 1)};
    rest.credential = "user and password";
  }
  WEFT_TRY(auto opened, RestApi::open(std::move(rest)));
  const bool has_token = !server.token.empty();
  const std::string root = has_token ? "/ufmRestV3" : "/ufmRest";
  return UfmApi{
      std::move(opened), root, {server.url + root, has_token ? "" : server.user, server.ca.string()}};
}

UfmWait wait_of_machine() {
  return {.now = [] { return Nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); },
          .sleep = [](Nanoseconds time) { std::this_thread::sleep_for(time); }};
}

RestCall UfmTarget::put_call(std::string body) const {
  return {.method = "PUT",
          .path = api_.root + "/app/unhealthy_ports",
          .body = std::move(body),
          .content_type = "application/json"};
}

/// UFM has no call that tells what a user may. A port that there is not is marked as healthy: who may not do
/// that is told so, and whatever else the server makes of it, nothing changes.
Result<void> UfmTarget::check_rights() {
  auto question = put_call(healthy_body(kNoPort));
  question.accepted = {400, 404, 405, 409, 422, 500};
  const auto said = api_.rest->call(question);
  if (said) return {};
  return fail(said.error().kind, "nothing was changed: {}", said.error().message);
}

Result<UnhealthyPorts> UfmTarget::read_unhealthy() {
  WEFT_TRY(const auto said, api_.rest->call({.path = api_.root + "/app/unhealthy_ports"}));
  return parse_unhealthy_ports(said);
}

Result<std::vector<Standing>> UfmTarget::read(std::span<const std::string> objects) {
  WEFT_TRY(auto unhealthy, read_unhealthy());
  WEFT_TRY(const auto said, api_.rest->call({.path = api_.root + "/resources/ports"}));
  WEFT_TRY(auto ports, parse_ufm_ports(said));
  links_.emplace(fabric_, std::move(ports), std::move(unhealthy), max_isolated_);
  return link_standings(fabric_, objects, [&](LinkId link) {
    const auto seen = links_->seen(link);
    return LinkSeen{seen.text, is_off(seen), seen.state != UfmLinks::State::unknown};
  });
}

Result<UfmTarget::EndOfLink> UfmTarget::end_of(const Change& change) const {
  if (!links_) return fail(ErrorKind::internal, "UFM was not read");
  WEFT_TRY(const auto link, fabric_.find_link(change.object));
  if (change.act == Act::pass) {
    const auto seen = links_->seen(link);
    if (seen.isolated.empty()) return fail(ErrorKind::conflict, "it is not isolated, but {}", seen.text);
    return EndOfLink{link, seen.isolated.front()};
  }
  WEFT_TRY(auto end, change.act == Act::put ? links_->end_to_isolate(link) : links_->end_to_heal(link));
  return EndOfLink{link, std::move(end)};
}

std::vector<std::string> UfmTarget::prepare(std::span<Change> changes) {
  std::vector<std::string> refusals(changes.size());
  if (links_) links_->restart();
  // All that is taken is so before the first is put: it makes room below the cap.
  for (const bool takes : {true, false})
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Change& change = changes[i];
      if ((change.act == Act::take) != takes) continue;
      const auto at = end_of(change);
      if (!at) {
        refusals[i] = at.error().message;
        continue;
      }
      if (change.act == Act::put) change.set = isolated_at(at->end.id);
      if (change.act == Act::pass) change.set = change.before;
      change.undo = change.act == Act::pass ? "" : typed(at->end.id, change.act == Act::take);
      if (change.act == Act::put) links_->take_out(at->link);
      if (change.act == Act::take) links_->give_back();
    }
  return refusals;
}

std::vector<UfmTarget::Ask> UfmTarget::plan(std::span<const Change> changes, Failures& failures) {
  std::vector<Ask> asks;
  const auto refuse = [&](const Change& change, const std::string& why) {
    failures.add({ErrorKind::conflict, fmt::format("{}: {}", change.object, why)});
  };
  for (const Change& change : changes) {
    if (change.act == Act::pass) continue;  // what stands there stays
    const bool isolates = change.act == Act::put;
    const auto at = end_of(change);
    if (!at) {
      refuse(change, at.error().message);
    } else if ((isolates ? change.set : change.before) != isolated_at(at->end.id)) {
      refuse(change, "it is another port by now: sync again");
    } else {
      asks.push_back({at->end, isolates});
      if (isolates) links_->take_out(at->link);
    }
  }
  return asks;
}

Result<void> UfmTarget::apply(std::span<const Change> changes) {
  Failures failures;
  std::vector<Ask> asked;
  int silent = 0;
  // A call for each: a port that is refused keeps no other from its turn.
  for (const Ask& ask : plan(changes, failures)) {
    const auto said =
        api_.rest->call(put_call(ask.isolates ? isolate_body(ask.end.id) : healthy_body(ask.end.id)));
    if (said) {
      asked.push_back(ask);
      silent = 0;
      continue;
    }
    failures.add({said.error().kind, fmt::format("{}: {}", ask.end.name, said.error().message)});
    silent = leaves_open(said.error()) ? silent + 1 : 0;
    if (silent < kMaxSilent) continue;
    if (!read_unhealthy()) break;
    silent = 0;  // it is there, and fails at these ports
  }
  if (const auto held = wait_for(asked); !held) failures.add(held.error());
  return failures.result();
}

Result<void> UfmTarget::wait_for(const std::vector<Ask>& asked) {
  if (asked.empty()) return {};
  const auto end = wait_.now() + wait_.limit;
  while (true) {
    const auto listed = read_unhealthy();
    const auto waits = [&](const Ask& ask) {
      if (!listed) return true;
      const auto port = listed->find(ask.end.id);
      return (port != listed->end() && port->second.is_manual()) != ask.isolates;
    };
    const auto waiting = std::ranges::find_if(asked, waits);
    if (waiting == asked.end()) return {};
    if (wait_.now() + wait_.interval > end)
      return fail(ErrorKind::timeout, "UFM took the change, but after {:.3g} s {} is {} there",
                  std::chrono::duration<double>(wait_.limit).count(), waiting->end.name,
                  !listed             ? "not known how: " + listed.error().message
                  : waiting->isolates ? "not isolated"
                                      : "still isolated");
    wait_.sleep(wait_.interval);
  }
}

std::string UfmTarget::typed(const UfmPortId& port, bool isolates) const {
  return curl_line(api_.by_hand, isolates ? isolate_body(port) : healthy_body(port));
}

std::optional<std::string> UfmTarget::left_behind(const std::string& object, const std::string& set) const {
  const auto port = port_of_mark(set);
  const auto link = fabric_.find_link(object);
  if (!links_ || !port || !link || !links_->isolated_elsewhere(*link, *port)) return std::nullopt;
  return fmt::format("it was {}, and the fabric file has it elsewhere now: mark that port as healthy by {}",
                     set, typed(*port, false));
}

std::string UfmTarget::by_hand(const Change& change) const {
  return fmt::format("PUT {}/app/unhealthy_ports for a port of {}: {}", api_.root, change.object,
                     change.act == Act::put ? "UNHEALTHY, isolate" : "HEALTHY");
}

}  // namespace weft::exports
