// A server on loopback that answers every question by one function, on a thread of its own.
#pragma once

#include <fmt/format.h>
#include <httplib.h>

#include <string>
#include <thread>

namespace weft {

class AnsweringServer {
 public:
  explicit AnsweringServer(httplib::Server::Handler answer) {
    server_.Get(".*", std::move(answer));
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~AnsweringServer() { server_.stop(); }
  AnsweringServer(const AnsweringServer&) = delete;
  AnsweringServer& operator=(const AnsweringServer&) = delete;
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace weft
