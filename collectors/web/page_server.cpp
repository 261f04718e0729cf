#include "collectors/web/page_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <thread>

#include "collectors/web/loopback.hpp"

namespace weft::web {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kThreads = 8;
constexpr std::size_t kMaxWaiting = 64;           // connections accepted and not yet served
constexpr std::size_t kMaxRequestBytes = 32'768;  // head and body
constexpr std::size_t kMaxPath = 1024;
constexpr std::size_t kMaxBody = 8192;
constexpr int kMaxRequests = 1000;  // of a connection
constexpr auto kReadTime = 2s;      // for a whole request
constexpr auto kWriteTime = 20s;    // for a whole answer: 500 KB at 200 kbit/s
constexpr auto kIdleTime = 5s;      // for the next request, while nobody waits for the thread
constexpr auto kFirstTime = 1s;     // for the first one, also then: browsers connect ahead
constexpr auto kSlice = 50ms;       // after so long a wait looks whether the server ends

/// A connection of which each request has a limit of bytes and time.
class Connection final : public httplib::Stream {
 public:
  Connection(socket_t socket, const std::atomic<bool>& ends) : socket_(socket), ends_(ends) {}

  /// Whether something came in time: as long as other connections wait for a thread, that is `least`.
  template <class IsCrowded>
  bool wait_for_request(Clock::duration least, IsCrowded is_crowded) {
    if (begin_ < end_) return true;
    const auto begin = Clock::now();
    for (auto passed = 0ns; passed < kIdleTime && !ends_; passed = Clock::now() - begin) {
      if (ready(POLLIN, Clock::now() + kSlice)) return true;
      if (passed >= least && is_crowded()) return false;
    }
    return false;
  }
  void begin_request() {
    taken_ = 0;
    read_limit_ = Clock::now() + kReadTime;
    write_limit_ = Clock::time_point();
  }

  bool is_readable() const override { return begin_ < end_ || ready(POLLIN, read_limit_); }
  bool is_writable() const override { return ready(POLLOUT, write_limit()); }
  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const auto count = std::min({size, end_ - begin_, kMaxRequestBytes - taken_});
    if (count == 0) return -1;
    std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), count, to);
    begin_ += count;
    taken_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    if (!is_writable()) return -1;
    return ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  socket_t socket() const override { return socket_; }

 private:
  Clock::time_point write_limit() const {
    if (write_limit_ == Clock::time_point()) write_limit_ = Clock::now() + kWriteTime;
    return write_limit_;
  }
  bool ready(short event, Clock::time_point limit) const {
    for (auto now = Clock::now(); now < limit && !ends_; now = Clock::now()) {
      pollfd watched{socket_, event, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - now) + 1ms;
      const int found =
          ::poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left.count(), kSlice / 1ms)));
      if (found > 0) return true;
      if (found < 0 && errno != EINTR) return false;
    }
    return false;
  }
  bool fill() {
    if (taken_ >= kMaxRequestBytes || !ready(POLLIN, read_limit_)) return false;
    const auto count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    begin_ = 0;
    end_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    return count > 0;
  }

  socket_t socket_;
  const std::atomic<bool>& ends_;
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0, end_ = 0;  // of what is in the buffer
  std::size_t taken_ = 0;            // of this request
  Clock::time_point read_limit_{};
  mutable Clock::time_point write_limit_{};
};

/// Threads and a bounded queue: who accepts waits for room, and the rest waits in the kernel's.
class Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(std::atomic<std::ptrdiff_t>& waiting) : waiting_(waiting) {
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
  }
  void enqueue(std::function<void()> job) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.size() < kMaxWaiting; });
    jobs_.push_back(std::move(job));
    count();
    changed_.notify_all();
  }
  void shutdown() override {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    threads_.clear();  // joins
  }

 private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      ++free_;
      count();
      changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      --free_;
      count();
      lock.unlock();
      changed_.notify_all();
      job();
    }
  }
  void count() { waiting_ = std::ssize(jobs_) - free_; }

  std::atomic<std::ptrdiff_t>& waiting_;  // connections beyond the threads that are free
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::ptrdiff_t free_ = 0;  // threads
  bool ends_ = false;
  std::vector<std::jthread> threads_;
};

/// The library's server, with our connections in place of its own, which know no limit for a whole request.
class BoundedServer final : public httplib::Server {
 public:
  BoundedServer() {
    new_task_queue = [this] { return new Threads(waiting_); };
  }
  void end() {
    ends_ = true;
    stop();
  }
  bool ends() const { return ends_; }

 private:
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket, ends_);
    bool good = true;
    for (int served = 1; good && served <= kMaxRequests; ++served) {
      if (!connection.wait_for_request(served == 1 ? kFirstTime : 0s, [&] { return waiting_ > 0; })) break;
      connection.begin_request();
      bool closed = false;
      good = process_request(connection, served == kMaxRequests, closed, nullptr) && !closed;
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return good;
  }

  std::atomic<bool> ends_ = false;
  std::atomic<std::ptrdiff_t> waiting_ = 0;
};

/// A page of another site whose name was made to lead here may not read this one.
bool is_own_name(std::string host, const std::string& address) {
  if (!is_loopback(address)) return true;
  if (host.starts_with('['))
    host = host.substr(1, host.find(']') - 1);
  else
    host = host.substr(0, host.find(':'));
  return host == address || is_loopback(host);
}

PageRequest request_of(const httplib::Request& request) {
  PageRequest asked{
      .method = request.method == "HEAD" ? "GET" : request.method,
      .path = request.path,
      .authorization = request.get_header_value("Authorization"),
      .origin = request.get_header_value("Origin"),
      .fetch_site = request.get_header_value("Sec-Fetch-Site"),
      .host = request.get_header_value("Host"),
      .takes_gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos,
      .is_passed_on = request.has_header(std::string(kPassedOn)),
      .body = request.body};
  for (const auto& [name, value] : request.params) asked.query.emplace(name, value);
  std::string match = request.get_header_value("If-None-Match");
  if (match.starts_with("W/")) match.erase(0, 2);
  if (match.size() > 2 && match.front() == '"') asked.if_none_match = match.substr(1, match.size() - 2);
  return asked;
}

std::int64_t wall_milliseconds() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())
      .time_since_epoch()
      .count();
}

void put_answer(const PageAnswer& answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (!response.has_header(std::string(kNow)))
    response.set_header(std::string(kNow), fmt::format("{}", wall_milliseconds()));
  if (!answer.etag.empty()) response.set_header("ETag", fmt::format("\"{}\"", answer.etag));
  if (answer.gzipped) response.set_header("Content-Encoding", "gzip");
  if (answer.body == nullptr) return;
  // By a provider: what is set as content may be compressed once more, and is copied.
  response.set_content_provider(answer.body->size(), answer.type,
                                [body = answer.body](size_t offset, size_t length, httplib::DataSink& sink) {
                                  return sink.write(body->data() + offset, length);
                                });
}

httplib::Headers headers_of_all() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-cache"},
      {"Vary", "Accept-Encoding"}};
}

}  // namespace

struct PageServer::Running {
  Running(PageOptions options, PageSetup setup) : options_(std::move(options)), routes_(std::move(setup)) {
    server_.set_default_headers(headers_of_all());
    server_.set_payload_max_length(kMaxBody);
    server_.set_tcp_nodelay(true);
    server_.set_keep_alive_max_count(kMaxRequests);  // what answers say; a Connection keeps to it
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;  // no SO_REUSEPORT: a second server on the port is to fail
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_exception_handler([](const auto&, httplib::Response& response, const std::exception_ptr&) {
      put_answer(error_answer(500, "the page failed on this request"), response);
    });
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      using enum httplib::Server::HandlerResponse;
      if (auto refusal = refusal_of(request)) return put_answer(*refusal, response), Handled;
      if (changes(request)) return Unhandled;  // its body has not been read yet
      return put_answer(routes_.answer(request_of(request)), response), Handled;
    });
    const auto change = [this](const httplib::Request& request, httplib::Response& response) {
      put_answer(routes_.answer(request_of(request)), response);
    };
    server_.Post(".*", change);
    server_.Delete(".*", change);
  }
  ~Running() {
    server_.end();
    if (thread_.joinable()) thread_.join();
  }

  static bool changes(const httplib::Request& request) {
    return request.method == "POST" || request.method == "DELETE";
  }

  std::optional<PageAnswer> refusal_of(const httplib::Request& request) const {
    if (request.method != "GET" && request.method != "HEAD" && !changes(request))
      return error_answer(405, "only GET and HEAD are allowed here");
    if (request.path.size() > kMaxPath) return error_answer(414, "the path is too long");
    if (!request.ranges.empty()) return error_answer(416, "there are no parts of a page");
    if (!is_own_name(request.get_header_value("Host"), options_.address))
      return error_answer(421, "this server is reached by another name: use localhost");
    return std::nullopt;
  }

  Result<void> listen() {
    const int port = options_.port == 0 ? server_.bind_to_any_port(options_.address)
                     : server_.bind_to_port(options_.address, options_.port) ? options_.port
                                                                             : -1;
    if (port <= 0)
      return fail(
          errno == EACCES ? ErrorKind::permission : ErrorKind::conflict,
          "the live page cannot listen on {}:{}: the port is taken, or the address is not this host's",
          options_.address, options_.port);
    options_.port = static_cast<std::uint16_t>(port);
    thread_ = std::thread([this] {
      // The library gives up when a connection is gone before it was accepted.
      while (!server_.listen_after_bind() && !server_.ends())
        if (!server_.bind_to_port(options_.address, options_.port)) std::this_thread::sleep_for(kSlice);
    });
    for (const auto limit = Clock::now() + 5s; !server_.is_running(); std::this_thread::sleep_for(1ms))
      if (Clock::now() > limit) return fail(ErrorKind::internal, "the live page did not start to listen");
    return {};
  }

  PageOptions options_;
  PageRoutes routes_;
  BoundedServer server_;
  std::thread thread_;
};

PageServer::PageServer(std::unique_ptr<Running> running) : running_(std::move(running)) {}
PageServer::~PageServer() = default;

Result<std::unique_ptr<PageServer>> PageServer::start(const PageOptions& options, PageSetup setup) {
  if (setup.token && !is_loopback(options.address))
    return fail(ErrorKind::usage,
                "a token would go to {} in clear: listen on 127.0.0.1 behind a proxy that speaks TLS",
                options.address);
  if (setup.boot.empty())
    setup.boot = fmt::format("{:x}", std::chrono::system_clock::now().time_since_epoch().count());
  auto running = std::make_unique<Running>(options, std::move(setup));
  WEFT_TRY_VOID(running->listen());
  return std::unique_ptr<PageServer>(new PageServer(std::move(running)));
}

std::uint16_t PageServer::port() const { return running_->options_.port; }

std::string PageServer::url() const {
  const std::string& address = running_->options_.address;
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", is_ipv6 ? "[" : "", address, is_ipv6 ? "]" : "", port());
}

}  // namespace weft::web
