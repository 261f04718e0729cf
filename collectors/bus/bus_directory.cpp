#include "collectors/bus/bus_directory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/run_certificate.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::bus {
namespace {

namespace fs = std::filesystem;
using os::Existing;
using session::BusAccount;

constexpr unsigned kSecret = 0600;
constexpr unsigned kOpen = 0644;
constexpr std::size_t kKeysAtOnce = 4;  // of one name
constexpr Bytes kMaxAuthority{65'536};

/// Of one host, watcher or operator, for the folder of its sort.
struct NewCredential {
  std::string path;  // relative to the directory
  BusFile file;
};

/// A bus that stands, while it is changed.
struct Standing {
  fs::path directory;
  BusPlan plan;
  std::string authority;
};

Result<std::string> new_key(std::vector<std::string>& keys) {
  auto seed = make_user_seed();
  WEFT_TRY(auto key, public_key_of(seed));
  keys.push_back(std::move(key));
  return seed;
}

const char* folder_of(BusAccount account) {
  switch (account) {
    case BusAccount::agents:
      break;
    case BusAccount::watchers:
      return kWatcherFolder;
    case BusAccount::operators:
      return kOperatorFolder;
  }
  return kHostFolder;
}

/// With a new key, which `member` has from now on.
Result<NewCredential> issue(const BusPlan& plan, const std::string& authority, const std::string& name,
                            BusMember& member, BusAccount account) {
  BusFile file{.url = fmt::format("tls://{}:{}", plan.address, plan.port),
               .fabric = plan.fabric,
               .name = name,
               .key = {{}, authority, plan.server_name},
               .nics = member.nics,
               .steers = account == BusAccount::operators};
  WEFT_TRY(file.key.seed, new_key(member.keys));
  if (account == BusAccount::watchers) file.limits = plan.limits;
  if (account != BusAccount::agents) {
    file.runs = BusKey{{}, authority, plan.server_name};
    WEFT_TRY(file.runs->seed, new_key(member.run_keys));
  }
  return NewCredential{fmt::format("{}/{}.json", folder_of(account), name), std::move(file)};
}

/// In `at`. Credentials first: what fails on the way leaves keys that the server does not know, never a
/// server that knows keys which nobody has.
Result<void> write_changes(const fs::path& at, const BusPlan& plan, const std::string& config,
                           const std::vector<NewCredential>& credentials, Existing existing) {
  for (const NewCredential& one : credentials) {
    if (one.file.steers) mkdir((at / kOperatorFolder).c_str(), 0700);  // most have none: or it is there
    WEFT_TRY_VOID(os::write_whole_file(at / one.path, bus_file_text(one.file), kSecret, existing));
  }
  WEFT_TRY_VOID(os::write_whole_file(at / kPlanFile, bus_plan_text(plan), kOpen, Existing::replaced));
  return os::write_whole_file(at / kServerConfig, config, kOpen, Existing::replaced);
}

Result<void> change(const Standing& bus, const std::vector<NewCredential>& credentials, Existing existing) {
  WEFT_TRY(const auto config, server_config_of(bus.plan, bus.directory));
  return write_changes(bus.directory, bus.plan, config, credentials, existing);
}

tl::unexpected<Error> not_made(const fs::path& path, int code) {
  return fail(code == EACCES || code == EPERM ? ErrorKind::permission : ErrorKind::absent, "{}: {}",
              path.filename().string(), std::strerror(code));
}

/// The server's own folder may be another user's, so the directory lets pass; secrets are where nobody gets.
Result<void> make_folders(const fs::path& directory) {
  if (mkdir(directory.c_str(), 0711) != 0) return not_made(directory, errno);
  for (const char* name : {kServerFolder, kHostFolder, kWatcherFolder})
    if (mkdir((directory / name).c_str(), 0700) != 0) return not_made(directory, errno);
  return {};
}

/// watcher, watcher2, ...
std::vector<std::string> numbered(std::string_view name, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 1; i <= count; ++i)
    names.push_back(i == 1 ? std::string(name) : fmt::format("{}{}", name, i));
  return names;
}

Result<BusPlan> plan_of(const BusSpec& spec, const std::string& server_name) {
  WEFT_TRY_VOID(check_bus_name(spec.fabric));
  const auto limits = stream_limits_for(spec.hosts.size());
  BusPlan plan{.fabric = spec.fabric,
               .address = spec.address,
               .port = spec.port,
               .server_name = server_name,
               .bytes = bytes_for(limits),
               .limits = limits,
               .hosts = {},
               .watchers = {}};
  const auto watchers = numbered(session::kWatcher, spec.watchers);
  const auto operators = numbered(session::kOperator, spec.operators);
  const auto users = session::watch_users(spec.fabric, watchers, spec.hosts, operators);
  if (!users) return pass_on(users);
  for (const auto& name : watchers) plan.watchers[name];
  for (const auto& name : operators) plan.operators[name];
  for (const auto& name : spec.hosts) {
    WEFT_TRY_VOID(check_bus_name(name));
    const auto nics = spec.nics.find(name);
    plan.hosts[name].nics = nics == spec.nics.end() ? std::vector<IpAddress>() : nics->second;
  }
  return plan;
}

/// `directory`: where it will be in the end; `beside`: where it is made.
Result<void> make_directory(const fs::path& directory, const fs::path& beside, BusPlan plan,
                            const SiteCertificate& certificate) {
  std::vector<NewCredential> credentials;
  for (const auto account : kBusAccounts)
    for (auto& [name, member] : plan.*members_of(account)) {
      WEFT_TRY(auto made, issue(plan, certificate.authority, name, member, account));
      credentials.push_back(std::move(made));
    }
  WEFT_TRY(const auto config, server_config_of(plan, directory));
  WEFT_TRY_VOID(make_folders(beside));
  const auto write = [&](const char* name, const std::string& text, unsigned mode) {
    return os::write_whole_file(beside / name, text, mode, Existing::refused);
  };
  WEFT_TRY_VOID(write(kAuthority, certificate.authority, kOpen));
  WEFT_TRY_VOID(write(kServerCertificate, certificate.certificate, kOpen));
  WEFT_TRY_VOID(write(kServerKey, certificate.key, kSecret));
  return write_changes(beside, plan, config, credentials, Existing::refused);
}

Result<SiteCertificate> own_certificate() {
  WEFT_TRY(const auto made, make_certificate_of(kBusServerName));
  return SiteCertificate{made.certificate, made.certificate, made.key};
}

/// Without what is no part of a name, so that the configuration names its files as they are.
Result<fs::path> whole_path(const fs::path& given) {
  std::error_code error;
  auto directory = fs::absolute(given, error).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  if (directory.string().find_first_of("\"\\\n") != std::string::npos)
    return fail(ErrorKind::usage, "the directory's name has a quotation mark, a backslash or a line's end");
  return directory;
}

Result<Standing> open_standing(const fs::path& given) {
  WEFT_TRY(const auto directory, whole_path(given));
  WEFT_TRY(auto plan, read_bus_plan(directory));
  WEFT_TRY(auto authority, files::read_text_file(directory / kAuthority, kMaxAuthority));
  return Standing{directory, std::move(plan), std::move(authority)};
}

Result<BusAccount> account_with(const BusPlan& plan, const std::string& name) {
  for (const auto account : kBusAccounts)
    if ((plan.*members_of(account)).contains(name)) return account;
  return fail(ErrorKind::not_found, "the bus of {} has no host, watcher or operator '{}': {} lists them",
              plan.fabric, outside_text(name), kPlanFile);
}

}  // namespace

Result<void> write_bus_directory(const fs::path& given, const BusSpec& spec) {
  WEFT_TRY(const auto directory, whole_path(given));
  std::error_code error;
  if (fs::exists(directory, error) && !(fs::is_directory(directory, error) && fs::is_empty(directory, error)))
    return fail(ErrorKind::conflict,
                "{} is there and is not empty: weft bus init writes over nothing; give another directory",
                directory.string());
  WEFT_TRY(const auto name, spec.site ? server_name_of(*spec.site) : Result<std::string>(kBusServerName));
  WEFT_TRY(const auto certificate, spec.site ? Result<SiteCertificate>(*spec.site) : own_certificate());
  WEFT_TRY(auto plan, plan_of(spec, name));
  auto beside = directory;
  beside += fmt::format(".new-{}", getpid());
  if (const auto made = make_directory(directory, beside, std::move(plan), certificate); !made) {
    fs::remove_all(beside, error);
    return pass_on(made, fmt::format("cannot make {}", directory.string()));
  }
  if (rename(beside.c_str(), directory.c_str()) != 0) {
    const int code = errno;
    fs::remove_all(beside, error);
    return not_made(directory, code);  // nobody was there a moment ago
  }
  return {};
}

Result<BusPlan> read_bus_plan(const fs::path& directory) {
  const auto path = directory / kPlanFile;
  const auto text = files::read_text_file(path, Bytes(kMaxBusPlan));
  if (!text) return pass_on(text, "this is no directory that 'weft bus init' made");
  return parse_bus_plan(*text, path.string());
}

Result<void> add_hosts(const fs::path& given, const std::vector<std::string>& hosts,
                       const NicsOfHosts& nics) {
  WEFT_TRY(auto bus, open_standing(given));
  std::vector<NewCredential> credentials;
  for (const std::string& host : hosts) {
    WEFT_TRY_VOID(check_bus_name(host));
    auto [place, is_new] = bus.plan.hosts.try_emplace(host);
    if (!is_new)
      return fail(ErrorKind::conflict, "{} has a key already: weft bus renew gives it another", host);
    if (const auto own = nics.find(host); own != nics.end()) place->second.nics = own->second;
    WEFT_TRY(auto made, issue(bus.plan, bus.authority, host, place->second, BusAccount::agents));
    credentials.push_back(std::move(made));
  }
  return change(bus, credentials, Existing::refused);
}

Result<void> add_operators(const fs::path& given, unsigned count) {
  WEFT_TRY(auto bus, open_standing(given));
  std::vector<NewCredential> credentials;
  for (const std::string& name : numbered(session::kOperator, count)) {
    const auto [place, is_new] = bus.plan.operators.try_emplace(name);
    if (!is_new) continue;
    WEFT_TRY(auto made, issue(bus.plan, bus.authority, name, place->second, BusAccount::operators));
    credentials.push_back(std::move(made));
  }
  return change(bus, credentials, Existing::refused);
}

Result<void> renew_keys(const fs::path& given, const std::vector<std::string>& names,
                        const NicsOfHosts& nics) {
  WEFT_TRY(auto bus, open_standing(given));
  std::vector<NewCredential> credentials;
  for (const std::string& name : names) {
    WEFT_TRY(const auto account, account_with(bus.plan, name));
    BusMember& member = (bus.plan.*members_of(account)).at(name);
    if (member.keys.size() >= kKeysAtOnce)
      return fail(ErrorKind::conflict, "{} has {} keys: weft bus drop --older takes all but the newest out",
                  name, member.keys.size());
    if (const auto own = nics.find(name); own != nics.end()) member.nics = own->second;
    WEFT_TRY(auto made, issue(bus.plan, bus.authority, name, member, account));
    credentials.push_back(std::move(made));
  }
  return change(bus, credentials, Existing::replaced);
}

Result<void> drop_keys(const fs::path& given, const std::vector<std::string>& names, Dropped what) {
  WEFT_TRY(auto bus, open_standing(given));
  for (const std::string& name : names) {
    WEFT_TRY(const auto account, account_with(bus.plan, name));
    auto& members = bus.plan.*members_of(account);
    if (what == Dropped::all_keys) {
      members.erase(name);
      continue;
    }
    BusMember& member = members.at(name);
    for (auto* keys : {&member.keys, &member.run_keys})
      if (!keys->empty()) keys->erase(keys->begin(), keys->end() - 1);
  }
  if (bus.plan.watchers.empty())
    return fail(ErrorKind::usage, "the bus needs a watcher: renew its key instead");
  WEFT_TRY_VOID(change(bus, {}, Existing::replaced));
  std::error_code error;
  if (what == Dropped::all_keys)
    for (const std::string& name : names)
      for (const auto account : kBusAccounts)
        fs::remove(bus.directory / folder_of(account) / (name + ".json"),
                   error);  // of no use now; most are gone
  return {};
}

}  // namespace weft::bus
