#include "probes/session/watch_subjects.hpp"

#include <fmt/format.h>

#include <set>

#include "probes/session/bus.hpp"
#include "probes/session/subject.hpp"

namespace weft::session {

namespace {

/// 64 bits (Fowler, Noll, Vo).
std::uint64_t fnv_1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

RunId standing_run(std::string_view fabric) { return RunId(fnv_1a(fabric)); }

/// No fabric has a name with a blank at its end.
RunId sweep_run(std::string_view fabric) { return RunId(fnv_1a(std::string(fabric) + " ")); }

std::string watch_subject(std::string_view kind, std::string_view fabric, std::string_view name) {
  return fmt::format("weft.{}.{}.{}", kind, subject_token(fabric), subject_token(name));
}

std::string watch_subjects(std::string_view kind, std::string_view fabric) {
  return fmt::format("weft.{}.{}.*", kind, subject_token(fabric));
}

std::string ledger_subject(std::string_view fabric) {
  return fmt::format("weft.blacklist.{}", subject_token(fabric));
}

std::optional<std::string> name_in(std::string_view subject, std::string_view kind, std::string_view fabric) {
  const auto start = fmt::format("weft.{}.{}.", kind, subject_token(fabric));
  if (!subject.starts_with(start) || subject.find('.', start.size()) != std::string_view::npos)
    return std::nullopt;
  return sender_of(subject);
}

std::string inbox_of(std::string_view fabric, std::string_view participant) {
  return fmt::format("weft.inbox.{}.{}", subject_token(fabric), subject_token(participant));
}

BusPermissions standing_agent_permissions(std::string_view fabric, std::string_view host) {
  const auto self = subject_token(host);
  const auto to_coordinator = fmt::format("weft.*.{}.{}", subject_token(kCoordinator), self);
  const auto to_self = fmt::format("weft.*.{}.*", self);
  return {.publish = {watch_subject(kWindows, fabric, host), watch_subject(kSay, fabric, host),
                      watch_subject(kCounters, fabric, host), watch_subject(kLabelAnswers, fabric, host),
                      to_coordinator, to_coordinator + ".*"},
          .subscribe = {watch_subject(kPlan, fabric, host), watch_subject(kLabels, fabric, host),
                        inbox_of(fabric, host) + ".>", to_self, to_self + ".*"}};
}

BusPermissions watcher_permissions() {
  return {.publish = {"weft.>", "$JS.API.>", "$KV.>"}, .subscribe = {"weft.>"}};
}

BusPermissions operator_permissions(std::string_view fabric) {
  return {.publish = {watch_subjects(kLabels, fabric)}, .subscribe = {watch_subjects(kLabelAnswers, fabric)}};
}

BusUser coordinator_of_all_runs() {
  const auto self = subject_token(kCoordinator);
  return {std::string(kCoordinator),
          self,
          {.publish = {fmt::format("weft.*.*.{}", self), fmt::format("weft.*.*.{}.*", self)},
           .subscribe = {fmt::format("weft.*.{}.*", self), fmt::format("weft.*.{}.*.*", self)}}};
}

BusUser coordinator_of_sweeps(std::string_view fabric) {
  return {std::string(kCoordinator), subject_token(kCoordinator), coordinator_permissions(sweep_run(fabric))};
}

Result<std::vector<BusUser>> watch_users(std::string_view fabric, const std::vector<std::string>& watchers,
                                         const std::vector<std::string>& hosts,
                                         const std::vector<std::string>& operators) {
  std::vector<BusUser> users;
  std::set<std::string_view> taken{fabric, kCoordinator};
  if (fabric == kCoordinator)
    return fail(ErrorKind::usage, "a fabric may not be named '{}': rename it in the fabric file", fabric);
  const auto add = [&](const std::string& name, BusPermissions may, BusAccount account) -> Result<void> {
    if (!taken.insert(name).second)
      return fail(
          ErrorKind::usage,
          "'{}' is the name of the fabric, or of another host, watcher or operator of it: give it another",
          name);
    users.push_back({name, subject_token(name), std::move(may), account});
    return {};
  };
  for (const auto& name : watchers) WEFT_TRY_VOID(add(name, watcher_permissions(), BusAccount::watchers));
  for (const auto& host : hosts)
    WEFT_TRY_VOID(add(host, standing_agent_permissions(fabric, host), BusAccount::agents));
  for (const auto& name : operators)
    WEFT_TRY_VOID(add(name, operator_permissions(fabric), BusAccount::operators));
  return users;
}

}  // namespace weft::session
