#include "collectors/bus/bus_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectors/bus/server_config.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::bus {

template <class Io>
static void members(Io& io, BusMember& m) {
  io("keys", m.keys);
  rarely(io, "run_keys", m.run_keys);
  rarely(io, "nics", m.nics);
}
template <class Io>
static void members(Io& io, BusPlan& m) {
  io("fabric", m.fabric);
  io("address", m.address);
  io("port", m.port);
  io("server_name", m.server_name);
  io("bytes", m.bytes);
  io("windows", m.limits.windows);
  io("events", m.limits.events);
  io("hosts", m.hosts);
  io("watchers", m.watchers);
  rarely(io, "operators", m.operators);
}

namespace {

/// What is kept of a host: a healthy one sends 1,500 bytes a second (and 200 more are the server's own), for
/// twenty minutes; twice that, for an hour with faults.
constexpr std::uint64_t kBytesOfHost = std::uint64_t{2} * 1700 * 1200;
/// Of both streams and the bucket, where a file of the server is not yet given back.
constexpr double kSlack = 1.25;

constexpr JsonLimits kPlanLimits{.bytes = kMaxBusPlan, .depth = 5, .values = 2'000'000};
constexpr std::size_t kMaxKeys = 8;

constexpr const char* kRemarks =
    "# Written by weft bus, again with each change; who is there stands in {}.\n"
    "# Start it with: nats-server -c {}\n"
    "# A power cut may lose what the server acknowledged in the last two minutes: nats-server 2.10 and "
    "later\n"
    "# take 'sync_interval: \"10s\"' (or always) among the settings of jetstream.\n";

/// As public_key_of writes them; nothing else goes into the configuration.
bool is_public_key(std::string_view key) {
  const auto is_base32 = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7'); };
  return key.size() == 56 && key[0] == 'U' && std::ranges::all_of(key, is_base32);
}

bool are_keys(const std::vector<std::string>& keys, std::size_t least) {
  return keys.size() >= least && keys.size() <= kMaxKeys && std::ranges::all_of(keys, is_public_key);
}

Result<void> check_members(const BusMembers& all, bool watchers, std::string_view where) {
  for (const auto& [name, member] : all) {
    WEFT_TRY_VOID(check_bus_name(name));
    if (!are_keys(member.keys, 1) || !are_keys(member.run_keys, watchers ? 1 : 0))
      return fail(ErrorKind::invalid_input, "{}: {} has no keys as 'weft bus' writes them", where, name);
  }
  return {};
}

std::vector<std::string> names_of(const BusMembers& all) {
  std::vector<std::string> names;
  for (const auto& [name, member] : all) names.push_back(name);
  return names;
}

}  // namespace

Result<void> check_bus_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 128 || !std::ranges::all_of(name, plain) || name.starts_with('.') ||
      name.starts_with('-'))
    return fail(
        ErrorKind::usage,
        "'{}' is no name for the bus: letters, digits, '-', '_' and '.' make one, the first a letter, "
        "digit or '_'",
        outside_text(name));
  return {};
}

std::string bus_plan_text(const BusPlan& plan) {
  return json_members::to_text(json_members::write_value(plan)) + "\n";
}

Result<BusPlan> parse_bus_plan(std::string_view text, std::string_view where) {
  const auto what =
      fmt::format("{} is no plan of a bus, as 'weft bus init' writes them", outside_text(where));
  const auto value = json_members::parse(text, kPlanLimits, "the file");
  if (!value) return pass_on(value, what);
  WEFT_TRY(auto plan, json_members::read_as<BusPlan>(*value, what));
  WEFT_TRY_VOID(check_bus_name(plan.fabric));
  WEFT_TRY_VOID(check_members(plan.hosts, false, what));
  WEFT_TRY_VOID(check_members(plan.watchers, true, what));
  WEFT_TRY_VOID(check_members(plan.operators, false, what));
  constexpr std::string_view kAddress = "0123456789abcdefABCDEF.:[]";
  if (plan.server_name.empty() || !is_harmless(plan.server_name))
    return fail(ErrorKind::invalid_input, "{}: it has no name of the server's certificate", what);
  if (plan.address.empty() || plan.address.find_first_not_of(kAddress) != std::string::npos)
    return fail(ErrorKind::invalid_input, "{}: its address is none", what);
  return plan;
}

BusMembers BusPlan::*members_of(session::BusAccount account) {
  switch (account) {
    case session::BusAccount::agents:
      break;
    case session::BusAccount::watchers:
      return &BusPlan::watchers;
    case session::BusAccount::operators:
      return &BusPlan::operators;
  }
  return &BusPlan::hosts;
}

Result<std::string> server_config_of(const BusPlan& plan, const std::filesystem::path& directory) {
  const auto server = directory / kServerFolder;
  ServerConfig config{
      .host = plan.address.starts_with('[') ? plan.address.substr(1, plan.address.size() - 2) : plan.address,
      .port = plan.port,
      .certificate_file = directory / kServerCertificate,
      .key_file = directory / kServerKey,
      .users = {},
      .jet_stream = ServerConfig::JetStream{server / "streams", plan.bytes}};
  WEFT_TRY(const auto users, session::watch_users(plan.fabric, names_of(plan.watchers), names_of(plan.hosts),
                                                  names_of(plan.operators)));
  for (const session::BusUser& user : users) {
    const BusMember& member = (plan.*members_of(user.account)).at(user.participant);
    for (const auto& key : member.keys) config.users.push_back({user, std::nullopt, key});
    const auto coordinator = user.account == session::BusAccount::operators
                                 ? session::coordinator_of_sweeps(plan.fabric)
                                 : session::coordinator_of_all_runs();
    for (const auto& key : member.run_keys) config.users.push_back({coordinator, std::nullopt, key});
  }
  return fmt::format(fmt::runtime(kRemarks), (directory / kPlanFile).string(),
                     (directory / kServerConfig).string()) +
         server_config_text(config);
}

StreamLimits stream_limits_for(std::size_t hosts) {
  StreamLimits limits;
  limits.windows = std::max(limits.windows, hosts * kBytesOfHost);
  return limits;
}

std::uint64_t bytes_for(const StreamLimits& limits) {
  return static_cast<std::uint64_t>(
      kSlack * static_cast<double>(limits.windows + limits.events + kBucketBytes + kLedgerBytes));
}

}  // namespace weft::bus
