#include "collectors/bus/bus_init.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/run_certificate.hpp"
#include "collectors/bus/server_config.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::bus {
namespace {

namespace fs = std::filesystem;

/// What is kept of a host: a healthy one sends 1,500 bytes a second (and 200 more are the server's own), for
/// twenty minutes; twice that, for an hour with faults.
constexpr std::uint64_t kBytesOfHost = std::uint64_t{2} * 1700 * 1200;
/// Of both streams and the bucket, where a file of the server is not yet given back.
constexpr double kSlack = 1.25;

/// It is also the name of a file.
Result<void> check_name(const std::string& name) {
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
        name);
  return {};
}

struct NewFile {
  std::string path;
  std::string text;
  bool secret = true;
};

StreamLimits limits_for(std::size_t hosts) {
  StreamLimits limits;
  limits.windows = std::max(limits.windows, hosts * kBytesOfHost);
  return limits;
}

constexpr const char* kRemarks =
    "# Written by weft bus init. Start it with: nats-server -c {}\n"
    "# A power cut may lose what the server acknowledged in the last two minutes: nats-server 2.10 and "
    "later\n"
    "# take 'sync_interval: \"10s\"' (or always) among the settings of jetstream.\n";

Result<std::vector<NewFile>> files_of(const fs::path& directory, const BusSpec& spec) {
  WEFT_TRY_VOID(check_name(spec.fabric));
  const auto watchers = watcher_names(spec.watchers);
  WEFT_TRY(const auto users, session::watch_users(spec.fabric, watchers, spec.hosts));
  WEFT_TRY(const auto certificate, make_certificate_of(kBusServerName));
  const auto server = directory / kServerFolder;
  const auto limits = limits_for(spec.hosts.size());
  const auto listen =
      spec.address.starts_with('[') ? spec.address.substr(1, spec.address.size() - 2) : spec.address;
  ServerConfig config{.host = listen,
                      .port = spec.port,
                      .certificate_file = server / "certificate.pem",
                      .key_file = server / "key.pem",
                      .users = {}};
  const auto kept = static_cast<double>(limits.windows + limits.events + kBucketBytes);
  config.jet_stream = {server / "streams", static_cast<std::uint64_t>(kSlack * kept)};
  std::vector<NewFile> files{{"server/certificate.pem", certificate.certificate, false},
                             {"server/key.pem", certificate.key}};
  for (const session::BusUser& user : users) {
    WEFT_TRY_VOID(check_name(user.participant));
    BusFile credential{.url = fmt::format("tls://{}:{}", spec.address, spec.port),
                       .fabric = spec.fabric,
                       .name = user.participant,
                       .key = {make_user_seed(), certificate.certificate},
                       .limits = user.watcher ? std::optional(limits) : std::nullopt};
    WEFT_TRY(auto key, public_key_of(credential.key.seed));
    config.users.push_back({user, std::nullopt, std::move(key)});
    if (user.watcher) {
      credential.runs = BusKey{make_user_seed(), certificate.certificate};
      WEFT_TRY(auto of_runs, public_key_of(credential.runs->seed));
      config.users.push_back({session::coordinator_of_all_runs(), std::nullopt, std::move(of_runs)});
    }
    files.push_back({fmt::format("{}/{}.json", user.watcher ? kWatcherFolder : kHostFolder, user.participant),
                     bus_file_text(credential)});
  }
  files.push_back(
      {kServerConfig,
       fmt::format(fmt::runtime(kRemarks), (directory / kServerConfig).string()) + server_config_text(config),
       false});
  return files;
}

tl::unexpected<Error> not_written(const fs::path& path, int code) {
  return fail(code == EACCES || code == EPERM ? ErrorKind::permission : ErrorKind::absent, "{}: {}",
              path.filename().string(), std::strerror(code));
}

Result<void> write_file(const fs::path& path, const NewFile& file) {
  const os::FileDescriptor into(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.secret ? 0600 : 0644));
  if (!into) return not_written(path, errno);
  if (write(into.get(), file.text.data(), file.text.size()) != static_cast<ssize_t>(file.text.size()))
    return not_written(path, ENOSPC);
  return {};
}

Result<void> write_all(const fs::path& directory, const std::vector<NewFile>& files) {
  for (const fs::path& folder :
       {directory, directory / kServerFolder, directory / kHostFolder, directory / kWatcherFolder})
    if (mkdir(folder.c_str(), 0700) != 0) return not_written(folder, errno);
  for (const NewFile& file : files) WEFT_TRY_VOID(write_file(directory / file.path, file));
  return {};
}

}  // namespace

std::vector<std::string> watcher_names(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 1; i <= count; ++i)
    names.push_back(i == 1 ? std::string(session::kWatcher) : fmt::format("{}{}", session::kWatcher, i));
  return names;
}

Result<void> write_bus_files(const fs::path& given, const BusSpec& spec) {
  std::error_code error;
  auto directory = fs::absolute(given, error).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  if (fs::exists(directory, error) && !(fs::is_directory(directory, error) && fs::is_empty(directory, error)))
    return fail(ErrorKind::conflict,
                "{} is there and is not empty: weft bus init writes over nothing; give another directory",
                directory.string());
  if (directory.string().find_first_of("\"\\\n") != std::string::npos)
    return fail(ErrorKind::usage, "the directory's name has a quotation mark, a backslash or a line's end");
  WEFT_TRY(const auto files, files_of(directory, spec));
  auto beside = directory;
  beside += fmt::format(".new-{}", getpid());
  if (const auto written = write_all(beside, files); !written) {
    fs::remove_all(beside, error);
    return pass_on(written, fmt::format("cannot make {}", directory.string()));
  }
  if (rename(beside.c_str(), directory.c_str()) != 0) {
    const int code = errno;
    fs::remove_all(beside, error);
    return not_written(directory, code);  // nobody was there a moment ago
  }
  return {};
}

}  // namespace weft::bus
