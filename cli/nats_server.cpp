#include "cli/nats_server.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);
constexpr auto kPoll = std::chrono::milliseconds(10);

std::string random_token() {
  unsigned char bytes[24];
  randombytes_buf(bytes, sizeof bytes);
  char hex[sizeof bytes * 2 + 1];
  return sodium_bin2hex(hex, sizeof hex, bytes, sizeof bytes);
}

/// The configuration holds the credential: only we may read it.
Result<void> write_config(const std::filesystem::path& path, const ListenAddress& listen,
                          const std::string& token) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fail(ErrorKind::permission, "cannot write {}", path.string());
  const auto text = fmt::format("host: \"{}\"\nport: {}\nauthorization {{ token: \"{}\" }}\n",
                                to_string(listen.address), listen.port ? int{*listen.port} : -1, token);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (!written) return fail(ErrorKind::absent, "cannot write {}: is the disk full?", path.string());
  return {};
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The url from the ports file that the server writes once it listens; empty: not yet.
std::string url_from(const std::filesystem::path& ports_file) {
  const auto ports = nlohmann::json::parse(read_all(ports_file), nullptr, false);
  if (!ports.is_object() || !ports.contains("nats") || !ports["nats"].is_array() || ports["nats"].empty())
    return {};
  return ports["nats"][0].is_string() ? ports["nats"][0].get<std::string>() : std::string();
}

}  // namespace

Result<NatsServer> NatsServer::start(const ListenAddress& listen) {
  auto scratch = ScratchDirectory::make();
  if (!scratch) return pass_on(scratch);
  const auto config = scratch->path() / "nats.conf";
  const auto log = scratch->path() / "nats.log";
  const std::string token = random_token();
  if (const auto written = write_config(config, listen, token); !written) return pass_on(written);
  ChildSpec spec{.argv = {"nats-server", "-c", config, "--ports_file_dir", scratch->path()}};
  spec.output = ToNothing{};
  spec.errors = ToFile{log};
  spec.own_session = true;
  auto child = ChildProcess::start(spec);
  if (!child)
    return fail(child.error().kind, "{}\ninstall it with: apt-get install nats-server",
                child.error().message);
  const auto ports_file = scratch->path() / fmt::format("nats-server_{}.ports", child->pid());
  for (auto waited = Nanoseconds(0); waited < kStartLimit; waited += kPoll) {
    if (const auto url = url_from(ports_file); !url.empty())
      return NatsServer(std::move(*scratch), std::move(*child), {url, token});
    const auto ended = child->wait_for(kPoll);
    if (ended && *ended)
      return fail(ErrorKind::absent, "nats-server ended at once ({}):\n{}", to_string(**ended),
                  read_all(log));
  }
  return fail(ErrorKind::timeout, "nats-server did not listen on {} within 10 s:\n{}",
              to_string(listen.address), read_all(log));
}

}  // namespace weft
