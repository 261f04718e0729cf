#include "balancer/export/rest_api.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/pipe_signal.hpp"
#include "topology/os/private_file.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::exports {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kMaxCertificates = Bytes(4'000'000);
constexpr std::size_t kMaxMessage = 300;
constexpr std::size_t kLong = 1'000'000;
constexpr std::string_view kDots = "...";  // in place of a secret, which may be a dot itself
constexpr int kMaxTries = 5;
constexpr auto kFirstPause = 100ms;  // doubled each time
constexpr int kHttpsPort = 443, kHttpPort = 80;
constexpr const char* kAuthority = "ca";  // names of files of our own
constexpr const char* kCertificate = "certificate";
constexpr const char* kKey = "key";

struct Place {
  bool tls = true;
  std::string host;  // without brackets
  int port = kHttpsPort;
  std::string prefix;  // of every path, without a slash at its end
};

bool is_this_host(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool all_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

/// Of a URL with a user and a password, which may have any characters, what stands behind them.
std::string without_user(const std::string& url) {
  const auto at = url.rfind('@');
  return at == std::string::npos ? url : std::string(kDots) + url.substr(at);
}

Result<Place> place_of(const std::string& url, bool plain) {
  const auto refused = [&](std::string_view why) {
    return fail(ErrorKind::usage, "'{}': {}; expected https://HOST[:PORT]", outside_text(without_user(url)),
                why);
  };
  Place place;
  std::string_view rest = url;
  if (rest.starts_with("http://"))
    place.tls = false, place.port = kHttpPort, rest.remove_prefix(7);
  else if (rest.starts_with("https://"))
    rest.remove_prefix(8);
  else
    return refused("it is no URL of a server");
  const auto authority = rest.substr(0, rest.find('/'));
  rest.remove_prefix(authority.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (authority.find('@') != std::string_view::npos)
    return refused("a password in it would be read by others");
  if (!all_of(rest, "/-._~")) return refused("its path has characters that are to be escaped");
  place.prefix = rest;
  auto port = authority.rfind(':');
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return refused("it has no ]");
    place.host = authority.substr(1, end - 1);
    port = end + 1 < authority.size() ? end + 1 : std::string_view::npos;
  } else {
    place.host = authority.substr(0, port);
  }
  if (place.host.empty() || !all_of(place.host, authority.starts_with('[') ? ":." : ".-"))
    return refused("it names no host");
  if (port != std::string_view::npos) {
    const auto digits = authority.substr(port + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
    if (authority[port] != ':' || error != std::errc() || end != digits.data() + digits.size() ||
        place.port < 1 || place.port > 65535)
      return refused("it has no port that there is");
  }
  if (!place.tls && !plain && !is_this_host(place.host))
    return refused("the credential would cross the network readable by all");
  return place;
}

/// Ends what a connection waits for at a time, whatever that is: a limit on each read lets a server that
/// sends a byte now and then hold a call for good.
class CallLimit {
 public:
  /// Of a connection that is made, or kept from an earlier call.
  void watch(int socket) {
    const std::scoped_lock lock(mutex_);
    socket_ = os::FileDescriptor(dup(socket));  // its own: the client may have closed its one by then
    if (is_over_ && socket_) shutdown(socket_.get(), SHUT_RDWR);
  }
  template <class Work>
  auto within(Clock::time_point end, Work work) {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = false;
    }
    const std::jthread timer([&](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      if (ended_.wait_until(lock, stop, end, [] { return false; }) || stop.stop_requested()) return;
      is_over_ = true;
      if (socket_) shutdown(socket_.get(), SHUT_RDWR);
    });
    return work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  os::FileDescriptor socket_;
  bool is_over_ = false;
};

/// An answer, or why there is none.
struct Reply {
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after{};
  httplib::Error error = httplib::Error::Success;
  bool too_long = false;
};

class HttpApi final : public RestApi {
 public:
  /// `files`: where a certificate and a key of the client are, if it has any.
  HttpApi(RestServer server, Place place, std::optional<os::ScratchDirectory> files)
      : server_(std::move(server)), place_(std::move(place)), files_(std::move(files)) {
    if (place_.tls)
      client_ = std::make_unique<httplib::SSLClient>(
          place_.host, place_.port, file_of(server_.certificate, kCertificate), file_of(server_.key, kKey));
    else
      client_ = std::make_unique<httplib::ClientImpl>(place_.host, place_.port);
    if (place_.tls && !server_.ca.empty()) client_->set_ca_cert_path(server_.ca.string());
    client_->set_keep_alive(true);
    client_->set_tcp_nodelay(true);       // a body does not wait for the answer to its head
    client_->set_follow_location(false);  // a credential goes to nobody else
    client_->set_url_encode(false);
    client_->set_decompress(false);
    client_->set_socket_options([this](int socket) { limit_.watch(socket); });
  }

  ~HttpApi() override {
    const os::NoPipeSignal none;  // TLS says farewell
    client_.reset();
  }

  /// The certificate and the key of the client belong together.
  bool is_valid() const { return client_->is_valid(); }

  Result<std::string> call(const RestCall& call) override {
    const os::NoPipeSignal none;
    const auto end = Clock::now() + server_.limit;
    std::chrono::nanoseconds pause = kFirstPause;
    for (int tries = 1;; ++tries, pause *= 2) {
      const Reply reply = limit_.within(end, [&] { return ask(call, end); });
      if (Clock::now() >= end)
        return fail(ErrorKind::timeout, "{} {}: no whole answer within {:.3g} s", call.method, where(call),
                    std::chrono::duration<double>(server_.limit).count());
      if (reply.status >= 200 && reply.status < 300) return reply.body;
      if (std::ranges::find(call.accepted, reply.status) != call.accepted.end()) return reply.body;
      const auto wait = reply.retry_after ? std::chrono::nanoseconds(*reply.retry_after) : pause;
      if (!may_try_again(reply) || tries == kMaxTries || wait >= end - Clock::now())
        return explained(call, reply);
      std::this_thread::sleep_for(wait);
    }
  }

 private:
  std::string file_of(const std::string& text, const char* name) const {
    return text.empty() ? std::string() : (files_->path() / name).string();
  }

  static bool may_try_again(const Reply& reply) {
    if (reply.status != 0) return reply.status == 429 || reply.status >= 500;
    return !reply.too_long && reply.error != httplib::Error::SSLServerVerification &&
           reply.error != httplib::Error::SSLLoadingCerts;
  }

  std::string where(const RestCall& call) const {
    return place_.prefix + call.path.substr(0, call.path.find('?'));
  }

  Reply ask(const RestCall& call, Clock::time_point end) {
    // A little more than is left: it is CallLimit that ends it.
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(
        std::max(end - Clock::now(), Clock::duration()) + 50ms);
    client_->set_connection_timeout(time);
    client_->set_read_timeout(time);
    client_->set_write_timeout(time);
    Reply reply;
    httplib::Request request;
    request.method = call.method;
    request.path = place_.prefix + call.path;
    request.body = call.body;
    request.set_header("Accept", "application/json");
    request.set_header("Accept-Encoding", "identity");
    request.set_header("User-Agent", "weft");
    if (!server_.authorization.empty()) request.set_header("Authorization", server_.authorization);
    if (!call.content_type.empty()) request.set_header("Content-Type", call.content_type);
    request.content_receiver = [&](const char* data, size_t size, std::uint64_t, std::uint64_t) {
      // A text that doubles stands in memory twice meanwhile.
      if (reply.body.capacity() < reply.body.size() + size && reply.body.size() > kLong)
        reply.body.reserve(reply.body.size() + reply.body.size() / 4 + size);
      reply.body.append(data, size);
      reply.too_long = std::ssize(reply.body) > server_.max_answer.count();
      return !reply.too_long && Clock::now() < end;
    };
    const auto back = client_->send(request);
    if (!back) {
      reply.error = back.error();
      return reply;
    }
    reply.status = back->status;
    int wait = 0;  // seconds
    const auto after = back->get_header_value("Retry-After");
    if (std::from_chars(after.data(), after.data() + after.size(), wait).ec == std::errc() && wait >= 0)
      reply.retry_after = std::chrono::seconds(wait);
    return reply;
  }

  /// What a server says may hold what it was told.
  std::string said(std::string text) const {
    for (const std::string& secret : server_.secrets)
      for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kDots.size()))
        text.replace(at, secret.size(), kDots);
    return outside_text(text.substr(0, kMaxMessage));
  }

  tl::unexpected<Error> explained(const RestCall& call, const Reply& reply) const {
    const auto what = fmt::format("{} {}", call.method, where(call));
    const auto server = fmt::format("{}:{}", place_.host, place_.port);
    if (reply.too_long)
      return fail(ErrorKind::invalid_input, "{}: {} answers with more than {} MB", what, server,
                  server_.max_answer.count() / 1'000'000);
    if (reply.error == httplib::Error::SSLLoadingCerts)
      return fail(ErrorKind::invalid_input, "{} holds no certificates in PEM",
                  server_.ca.empty() ? "the system's store" : outside_text(server_.ca.string()));
    if (reply.error == httplib::Error::SSLServerVerification)
      return fail(ErrorKind::permission,
                  "the certificate of {} is not of the authority in {}, or not for that name: no {} was sent",
                  server, server_.ca.empty() ? "the system's store" : outside_text(server_.ca.string()),
                  server_.credential);
    if (reply.status == 0)
      return fail(ErrorKind::absent, "{}: {} does not answer, or not as a whole ({})", what, server,
                  httplib::to_string(reply.error));
    const auto refusal = server_.read_refusal(reply.body);
    const auto words = fmt::format("{}: status {}{}{}", what, reply.status,
                                   refusal.message.empty() ? "" : ": ", said(refusal.message));
    if (reply.status >= 300 && reply.status < 400)
      return fail(ErrorKind::invalid_input, "{}: {} sends elsewhere, which is not followed", words, server);
    if (reply.status == 401)
      return fail(ErrorKind::permission, "{}: it does not take this {}", words, server_.credential);
    if (reply.status == 403)
      return fail(ErrorKind::permission, "{}{}{}", words, server_.right.empty() ? "" : ": ", server_.right);
    if (reply.status == 404 && refusal.is_not_found) return fail(ErrorKind::not_found, "{}", words);
    if (reply.status == 409) return fail(ErrorKind::conflict, "{}", words);
    if (reply.retry_after && may_try_again(reply))
      return fail(ErrorKind::absent, "{}: it is too busy, and may be asked again in {} s", words,
                  reply.retry_after->count());
    if (may_try_again(reply)) return fail(ErrorKind::absent, "{}", words);
    return fail(ErrorKind::invalid_input, "{}", words);
  }

  const RestServer server_;
  const Place place_;
  const std::optional<os::ScratchDirectory> files_;
  CallLimit limit_;
  std::unique_ptr<httplib::ClientImpl> client_;  // ends first: it tells limit_ of its sockets
};

/// The library takes certificates and keys of files alone.
Result<std::optional<os::ScratchDirectory>> put_into_files(RestServer& server) {
  if (server.ca_text.empty() && server.certificate.empty()) return std::nullopt;
  WEFT_TRY(auto folder, os::ScratchDirectory::make());
  const auto put = [&](const char* name, const std::string& text) -> Result<void> {
    if (text.empty()) return {};
    return os::write_whole_file(folder.path() / name, text, 0600, os::Existing::refused);
  };
  WEFT_TRY_VOID(in_turn([&] { return put(kAuthority, server.ca_text); },
                        [&] { return put(kCertificate, server.certificate); },
                        [&] { return put(kKey, server.key); }));
  if (!server.ca_text.empty()) server.ca = folder.path() / kAuthority;
  return std::optional(std::move(folder));
}

}  // namespace

Result<std::unique_ptr<RestApi>> RestApi::open(RestServer server) {
  WEFT_TRY(auto place, place_of(server.url, server.plain));
  if (!place.tls && !server.certificate.empty())
    return fail(ErrorKind::usage, "'{}': a client certificate goes with https", outside_text(server.url));
  WEFT_TRY(auto folder, put_into_files(server));
  if (place.tls && !server.ca.empty()) {
    WEFT_TRY(const auto certificates, files::read_text_file(server.ca, kMaxCertificates));
    if (certificates.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
      return fail(ErrorKind::invalid_input, "{} holds no certificates in PEM",
                  outside_text(server.ca.string()));
  }
  auto api = std::make_unique<HttpApi>(std::move(server), std::move(place), std::move(folder));
  if (!api->is_valid())
    return fail(ErrorKind::invalid_input,
                "the client certificate and its key are no PEM, or do not belong together");
  return api;
}

Result<std::string> token_in(std::string text, const std::filesystem::path& file) {
  text = os::without_line_end(std::move(text));
  if (!text.empty() && all_of(text, "-._~+/=")) return text;
  return fail(ErrorKind::invalid_input, "{} holds no token: it is {}", outside_text(file.string()),
              text.empty() ? "empty" : "of other characters than a token has");
}

std::string basic_authorization(const std::string& user, const std::string& password) {
  return httplib::make_basic_authentication_header(user, password).second;
}

std::string query_word(std::string_view text) {
  std::string out;
  for (const char c : text)
    out +=
        all_of({&c, 1}, "-._~") ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace weft::exports
