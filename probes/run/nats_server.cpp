#include "probes/run/nats_server.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <iterator>

#include "collectors/bus/run_certificate.hpp"
#include "collectors/bus/server_config.hpp"
#include "topology/base/check.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(30);  // it reads its streams first
constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr Bytes kMaxText(10'000'000);  // of what the server says
constexpr const char* kCertificate = "certificate.pem";
constexpr const char* kKey = "key.pem";
constexpr const char* kConfig = "nats.conf";
constexpr const char* kStore = "streams";

std::string random_password() {
  unsigned char bytes[24];
  randombytes_buf(bytes, sizeof bytes);
  char hex[sizeof bytes * 2 + 1];
  return sodium_bin2hex(hex, sizeof hex, bytes, sizeof bytes);
}

/// All that the server reads is secret: only we may.
Result<void> write_secret(const std::filesystem::path& path, std::string_view text) {
  const os::FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail(ErrorKind::permission, "cannot write {}", path.string());
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(ErrorKind::absent, "cannot write {}: is the disk full?", path.string());
  return {};
}

/// As PATH has it, or where distributions put it: the PATH of users often lacks these.
constexpr std::array kPrograms{"nats-server", "/usr/sbin/nats-server", "/usr/local/sbin/nats-server"};

Result<os::ChildProcess> start_program(os::ChildSpec spec) {
  auto child = os::ChildProcess::start(spec);
  for (std::size_t i = 1; !child && child.error().kind == ErrorKind::absent && i < kPrograms.size(); ++i) {
    spec.argv.front() = kPrograms[i];
    if (auto other = os::ChildProcess::start(spec)) return other;
  }
  return child;
}

using Logins = std::map<std::string, bus::BusLogin, std::less<>>;  // by participant

std::string config_text(const NatsServerSpec& spec, const std::filesystem::path& directory,
                        const Logins& logins) {
  bus::ServerConfig config{.host = to_string(spec.listen.address),
                           .port = spec.listen.port ? int{*spec.listen.port} : -1,
                           .certificate_file = directory / kCertificate,
                           .key_file = directory / kKey,
                           .users = {}};
  for (const session::BusUser& user : spec.users)
    config.users.push_back({user, logins.at(user.participant).password});
  if (spec.jet_stream) {
    const auto& store = spec.jet_stream->store;
    config.jet_stream = {store.empty() ? directory / kStore : store, spec.jet_stream->bytes};
  }
  return bus::server_config_text(config);
}

/// The files that the server starts from, and what each participant shows it.
Result<Logins> prepare(const NatsServerSpec& spec, const std::filesystem::path& directory) {
  WEFT_TRY(const auto made, bus::make_run_certificate());
  Logins logins;
  for (const session::BusUser& user : spec.users)
    logins[user.participant] = {user.name, random_password(), made.certificate};
  const std::pair<const char*, std::string> files[] = {
      {kCertificate, made.certificate}, {kKey, made.key}, {kConfig, config_text(spec, directory, logins)}};
  for (const auto& [name, text] : files) WEFT_TRY_VOID(write_secret(directory / name, text));
  return logins;
}

/// Empty where it is not there yet.
std::string text_of(const std::filesystem::path& path) {
  return files::read_text_file(path, kMaxText).value_or("");
}

/// The url from the ports file that the server writes once it listens; empty: not yet.
std::string url_from(const std::filesystem::path& ports_file) {
  const auto ports = files::parse_json(text_of(ports_file), "the ports file");
  if (!ports) return {};
  const files::JsonView view(*ports, "the ports file");
  const auto urls = view.need("nats").and_then(files::read_texts);
  return urls && !urls->empty() ? urls->front() : std::string();
}

struct Started {
  os::ChildProcess child;
  std::string url;
};

/// The port at the end of a url, as in "tls://10.0.0.1:4222".
std::optional<std::uint16_t> port_in(std::string_view url) {
  const auto digits = url.substr(url.rfind(':') + 1);
  std::uint16_t port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool whole = read.ec == std::errc{} && read.ptr == digits.data() + digits.size() && port != 0;
  return whole ? std::optional(port) : std::nullopt;
}

/// Whatever port it took: started again from these files it takes the same one.
Result<void> keep_port(NatsServerSpec spec, const Started& started, const std::filesystem::path& directory,
                       const Logins& logins) {
  if (spec.listen.port) return {};
  spec.listen.port = port_in(started.url);
  if (!spec.listen.port)
    return fail(ErrorKind::internal, "nats-server says that it listens at {}: no port", started.url);
  std::error_code failed;
  std::filesystem::remove(directory / kConfig, failed);
  return write_secret(directory / kConfig, config_text(spec, directory, logins));
}

/// With the files in `directory`, until it listens.
Result<Started> start_in(const std::filesystem::path& directory) {
  const auto log = directory / "nats.log";
  os::ChildSpec spec{.argv = {kPrograms.front(), "-c", directory / kConfig, "--ports_file_dir", directory}};
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{log};
  spec.own_session = true;
  auto child = start_program(std::move(spec));
  if (!child)
    return fail(child.error().kind, "{}\ninstall it with: apt-get install nats-server",
                child.error().message);
  const auto ports_file = directory / fmt::format("nats-server_{}.ports", child->pid());
  for (auto waited = Nanoseconds(0); waited < kStartLimit; waited += kPoll) {
    if (auto url = url_from(ports_file); !url.empty()) return Started{std::move(*child), std::move(url)};
    const auto ended = child->wait_for(kPoll);
    if (ended && *ended)
      return fail(ErrorKind::absent, "nats-server ended at once ({}):\n{}", to_string(**ended), text_of(log));
  }
  return fail(ErrorKind::timeout, "nats-server did not listen within {} s:\n{}", kStartLimit.count(),
              text_of(log));
}

}  // namespace

Result<NatsServer> NatsServer::start(const ListenAddress& listen, RunId run,
                                     const std::vector<std::string>& hosts) {
  WEFT_TRY(auto users, session::bus_users(run, hosts));
  return start({listen, std::move(users)});
}

Result<NatsServer> NatsServer::start(const NatsServerSpec& spec) {
  WEFT_TRY(auto scratch, os::ScratchDirectory::make());
  WEFT_TRY(const auto logins, prepare(spec, scratch.path()));
  auto started = start_in(scratch.path());
  if (!started) return pass_on(started, to_string(spec.listen.address));
  WEFT_TRY_VOID(keep_port(spec, *started, scratch.path(), logins));
  Addresses addresses;
  for (const auto& [participant, login] : logins) addresses[participant] = {started->url, login};
  return NatsServer(std::move(scratch), std::move(started->child), std::move(addresses));
}

Result<void> NatsServer::restart() {
  WEFT_TRY(auto started, start_in(scratch_.path()));
  child_ = std::move(started.child);
  return {};
}

const bus::NatsAddress& NatsServer::address_for(std::string_view participant) const {
  const auto found = addresses_.find(participant);
  WEFT_CHECK(found != addresses_.end());
  return found->second;
}

}  // namespace weft::run
