#include "probes/run/nats_server.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

#include "collectors/bus/run_certificate.hpp"
#include "probes/session/bus_permissions.hpp"
#include "topology/base/check.hpp"
#include "topology/files/json_view.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);
constexpr auto kPoll = std::chrono::milliseconds(10);
/// A busy machine whose agents all come at once; the server's own limit is 2.
constexpr int kHandshakeSeconds = 10;
constexpr const char* kCertificate = "certificate.pem";
constexpr const char* kKey = "key.pem";
constexpr const char* kConfig = "nats.conf";

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

/// A list of subjects: none has a character that would end its quotation.
std::string quoted(const std::vector<std::string>& subjects) {
  return subjects.empty() ? std::string() : fmt::format("\"{}\"", fmt::join(subjects, "\", \""));
}

using Logins = std::map<std::string, bus::BusLogin, std::less<>>;  // by participant

std::string config_text(const ListenAddress& listen, const std::filesystem::path& directory,
                        const std::vector<session::BusUser>& users, const Logins& logins) {
  auto text = fmt::format(
      "host: \"{}\"\nport: {}\n"
      "tls {{ cert_file: \"{}\", key_file: \"{}\", timeout: {} }}\n"
      "authorization {{\n  timeout: {}\n  users: [\n",
      to_string(listen.address), listen.port ? int{*listen.port} : -1, (directory / kCertificate).string(),
      (directory / kKey).string(), kHandshakeSeconds, 2 * kHandshakeSeconds);
  for (const session::BusUser& user : users)
    text += fmt::format(
        "    {{ user: \"{}\", password: \"{}\", permissions: {{ publish: {{ allow: [{}] }}, subscribe: {{ "
        "allow: [{}] }} }} }}\n",
        user.name, logins.at(user.participant).password, quoted(user.may.publish),
        quoted(user.may.subscribe));
  return text + "  ]\n}\n";
}

/// The files that the server starts from, and what each participant shows it.
Result<Logins> prepare(const ListenAddress& listen, const std::filesystem::path& directory,
                       const std::vector<session::BusUser>& users) {
  WEFT_TRY(const auto made, bus::make_run_certificate());
  Logins logins;
  for (const session::BusUser& user : users)
    logins[user.participant] = {user.name, random_password(), made.certificate};
  const std::pair<const char*, std::string> files[] = {
      {kCertificate, made.certificate},
      {kKey, made.key},
      {kConfig, config_text(listen, directory, users, logins)}};
  for (const auto& [name, text] : files) WEFT_TRY_VOID(write_secret(directory / name, text));
  return logins;
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The url from the ports file that the server writes once it listens; empty: not yet.
std::string url_from(const std::filesystem::path& ports_file) {
  const auto ports = files::parse_json(read_all(ports_file), "the ports file");
  if (!ports) return {};
  const files::JsonView view(*ports, "the ports file");
  const auto urls = view.need("nats").and_then(files::read_texts);
  return urls && !urls->empty() ? urls->front() : std::string();
}

}  // namespace

Result<NatsServer> NatsServer::start(const ListenAddress& listen, RunId run,
                                     const std::vector<std::string>& hosts) {
  WEFT_TRY(const auto users, session::bus_users(run, hosts));
  WEFT_TRY(auto scratch, os::ScratchDirectory::make());
  WEFT_TRY(const auto logins, prepare(listen, scratch.path(), users));
  const auto log = scratch.path() / "nats.log";
  os::ChildSpec spec{
      .argv = {kPrograms.front(), "-c", scratch.path() / kConfig, "--ports_file_dir", scratch.path()}};
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{log};
  spec.own_session = true;
  auto child = start_program(std::move(spec));
  if (!child)
    return fail(child.error().kind, "{}\ninstall it with: apt-get install nats-server",
                child.error().message);
  const auto ports_file = scratch.path() / fmt::format("nats-server_{}.ports", child->pid());
  for (auto waited = Nanoseconds(0); waited < kStartLimit; waited += kPoll) {
    if (const auto url = url_from(ports_file); !url.empty()) {
      Addresses addresses;
      for (const auto& [participant, login] : logins) addresses[participant] = {url, login};
      return NatsServer(std::move(scratch), std::move(*child), std::move(addresses));
    }
    const auto ended = child->wait_for(kPoll);
    if (ended && *ended)
      return fail(ErrorKind::absent, "nats-server ended at once ({}):\n{}", to_string(**ended),
                  read_all(log));
  }
  return fail(ErrorKind::timeout, "nats-server did not listen on {} within 10 s:\n{}",
              to_string(listen.address), read_all(log));
}

const bus::NatsAddress& NatsServer::address_for(std::string_view participant) const {
  const auto found = addresses_.find(participant);
  WEFT_CHECK(found != addresses_.end());
  return found->second;
}

}  // namespace weft::run
