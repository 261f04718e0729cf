#include "collectors/webhook/webhook.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collectors/webhook/event_queue.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/pipe_signal.hpp"
#include "topology/os/private_file.hpp"

namespace weft::webhook {
namespace {

constexpr std::size_t kMinSecret = 16;
constexpr std::size_t kMaxSecret = 4096;

struct Url {
  std::string server;  // https://HOST[:PORT]
  std::string path;
};

bool is_this_host(std::string_view host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Result<Url> read_url(const std::string& url) {
  const auto refused = [&](std::string_view why) {
    return fail(ErrorKind::usage, "webhook '{}': {}; expected https://HOST[:PORT]/PATH", outside_text(url),
                why);
  };
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return refused("it is no URL");
  const bool plain = url.starts_with("http://");
  if (!plain && !url.starts_with("https://")) return refused("only https and http are known");
  if (!is_harmless(url) || url.find(' ') != std::string::npos)
    return refused("it has characters that no URL has");
  const auto slash = url.find('/', scheme + 3);
  const auto authority = url.substr(scheme + 3, slash - scheme - 3);
  if (authority.find('@') != std::string::npos)
    return refused("it holds a password, which others can read: sign instead");
  const auto host =
      authority.substr(0, authority.starts_with('[') ? authority.find(']') + 1 : authority.find(':'));
  if (host.empty()) return refused("it names no host");
  if (plain && !is_this_host(host))
    return refused("events would cross the network readable by all: use https");
  return Url{url.substr(0, slash), slash == std::string::npos ? "/" : url.substr(slash)};
}

std::int64_t wall_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class HttpWebhook final : public Webhook {
 public:
  HttpWebhook(WebhookOptions options, Url url)
      : options_(std::move(options)), url_(std::move(url)), queue_(options_), client_(url_.server) {
    const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(options_.answer_within);
    client_.set_connection_timeout(limit);
    client_.set_read_timeout(limit);
    client_.set_write_timeout(limit);
    client_.set_keep_alive(false);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~HttpWebhook() override {
    thread_.request_stop();
    client_.stop();
  }

  void report(const files::EventReport& event) override {
    {
      const std::scoped_lock lock(mutex_);
      if (!queue_.push(event)) return;
    }
    changed_.notify_one();
  }

  void was_reported(const files::EventReport& event) override {
    const std::scoped_lock lock(mutex_);
    queue_.note_told(event);
  }

  WebhookCounts counts() const override {
    const std::scoped_lock lock(mutex_);
    return queue_.counts();
  }

 private:
  struct Tried {
    Answer answer;
    std::string trouble;
  };

  Tried post(const Delivery& delivery) {
    httplib::Headers headers{{"X-Weft-Event", delivery.id}, {"User-Agent", "weft"}};
    if (!options_.secret.empty())
      headers.emplace("X-Weft-Signature", signature(options_.secret, wall_seconds(), delivery.body));
    const os::NoPipeSignal none;  // a receiver that hangs up ends no watcher
    const auto result = client_.Post(url_.path, headers, delivery.body, "application/json");
    if (!result) return {Answer::again, fmt::format("{}: {}", url_.server, to_string(result.error()))};
    const Answer answer = answer_of(result->status);
    if (answer == Answer::taken) return {answer, {}};
    return {answer, fmt::format("{}: status {}", url_.server, result->status)};
  }

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return queue_.next() != nullptr; })) {
      const Delivery delivery = *queue_.next();
      lock.unlock();
      auto tried = post(delivery);
      lock.lock();
      const Nanoseconds pause = queue_.tried(tried.answer, std::move(tried.trouble));
      if (pause > Nanoseconds()) changed_.wait_for(lock, stop, pause, [] { return false; });
      if (stop.stop_requested()) return;
    }
  }

  const WebhookOptions options_;
  const Url url_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  EventQueue queue_;        // under mutex_
  httplib::Client client_;  // of the thread, but for stop()
  std::jthread thread_;
};

}  // namespace

Result<std::string> read_secret(const std::filesystem::path& path) {
  WEFT_TRY(auto text, os::read_private_file(path, "the secret", kMaxSecret));
  auto secret = os::without_line_end(std::move(text));
  if (secret.size() < kMinSecret)
    return fail(ErrorKind::invalid_input,
                "secret {}: it has {} bytes: expected {} to {}, as of openssl rand -hex 32", path.string(),
                secret.size(), kMinSecret, kMaxSecret);
  return secret;
}

std::string signature(std::string_view secret, std::int64_t seconds, std::string_view body) {
  const std::string text = fmt::format("{}.{}", seconds, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes, text.size(),
                          code.data(), &size);
  WEFT_CHECK(made != nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", code.at(i));
  return fmt::format("t={},v1={}", seconds, hex);
}

Result<std::unique_ptr<Webhook>> Webhook::start(WebhookOptions options) {
  WEFT_TRY(auto url, read_url(options.url));
  return std::unique_ptr<Webhook>(std::make_unique<HttpWebhook>(std::move(options), std::move(url)));
}

}  // namespace weft::webhook
