// A UFM Enterprise as far as ports go, over TLS with a certificate made for the test, after the published
// REST API guide: ports with their peers, the list of unhealthy ones, marks that show after a while, users
// that may only look. It can be made to refuse, to be slow or to answer with anything. Never held against a
// real one.
#pragma once

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collectors/bus/run_certificate.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

class FakeUfm {
 public:
  using Json = nlohmann::json;
  using Request = httplib::Request;
  using Response = httplib::Response;
  static constexpr const char* kUser = "weft";
  static constexpr const char* kPassword = "a b:c$\"d";
  static constexpr const char* kToken = "abcDEF123-of-a-test";

  FakeUfm()
      : made_(bus::make_certificate_of("localhost").value()),
        ca_(made_.certificate),
        key_(made_.key),
        token_(std::string(kToken) + "\n"),
        password_(std::string(kPassword) + "\n"),
        server_(ca_.path().c_str(), key_.path().c_str()) {
    for (const ScratchFile* file : {&token_, &password_})
      std::filesystem::permissions(file->path(), std::filesystem::perms::owner_read);
    const auto handle = [this](const Request& request, Response& response) { answer(request, response); };
    server_.Get(".*", handle);
    server_.Put(".*", handle);
    server_.set_keep_alive_timeout(1);
    server_.set_tcp_nodelay(true);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    // A server that is told to stop before it runs never stops.
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeUfm() { stop(); }
  FakeUfm(const FakeUfm&) = delete;
  FakeUfm& operator=(const FakeUfm&) = delete;

  std::string url() const { return "https://localhost:" + std::to_string(port_); }
  std::string ca_file() const { return ca_.path(); }
  std::string token_file() const { return token_.path(); }
  std::string password_file() const { return password_.path(); }
  void stop() {
    is_ending = true;
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  /// The name of a port: of a switch by the node's GUID, of a host by the port's own.
  static std::string name_of(const Fabric& fabric, PortId port) {
    const Port& its = fabric.port(port);
    const auto& node = fabric.node(its.node);
    const bool is_host = fabric.is_host(its.node);
    const auto guid = is_host ? its.guid.value_or(Guid(0xb8ce'f603'0010'0000 + port.value()))
                              : node.guid.value_or(Guid(0x0002'c903'0020'0000 + its.node.value()));
    return fmt::format("{:016x}_{}", guid.value(), is_host ? 1 : its.number.value());
  }
  /// The end of a link at that node.
  static std::string end_of(const Fabric& fabric, const std::string& link, const std::string& node) {
    const Link& its = fabric.link(fabric.find_link(link).value());
    return name_of(fabric, fabric.name_of(fabric.port(its.a).node) == node ? its.a : its.b);
  }
  void add_fabric(const Fabric& fabric) {
    const std::scoped_lock lock(mutex_);
    for (const Link& link : fabric.links())
      for (const auto& [port, far] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
        ports_[name_of(fabric, port)] = {{"name", name_of(fabric, port)},
                                         {"system_name", fabric.name_of(fabric.port(port).node)},
                                         {"number", fabric.port(port).number.value()},
                                         {"physical_state", "Link Up"},
                                         {"logical_state", "Active"},
                                         {"peer", name_of(fabric, far)}};
  }
  void change_port(const std::string& name, const std::function<void(Json&)>& how) {
    const std::scoped_lock lock(mutex_);
    how(ports_.at(name));
  }
  void drop_port(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    ports_.erase(name);
  }
  /// What somebody else does, or OpenSM by itself.
  void isolate(const std::string& name, const std::string& condition = "MANUAL") {
    const std::scoped_lock lock(mutex_);
    unhealthy_[name].insert(condition);
  }
  void heal(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    unhealthy_.erase(name);
  }
  /// Names of what is listed.
  std::vector<std::string> unhealthy() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, conditions] : unhealthy_) names.push_back(name);
    return names;
  }
  /// What is asked for shows only after the list was read so many times.
  void be_late(int reads) {
    const std::scoped_lock lock(mutex_);
    late_ = reads;
  }
  /// Its users may look and change nothing.
  void deny_changes() {
    const std::scoped_lock lock(mutex_);
    is_read_only_ = true;
  }
  /// Bodies of changes, in their order, without the question of rights.
  std::vector<std::string> changes() const {
    const std::scoped_lock lock(mutex_);
    return changes_;
  }
  std::size_t calls_of(const std::string& method) const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(calls_, method));
  }
  /// Before a call is served; true: it was answered.
  void meddle(std::function<bool(const Request&, Response&)> how) {
    const std::scoped_lock lock(mutex_);
    meddle_ = std::move(how);
  }
  static void refuse(Response& response, int code, const std::string& words) {
    response.status = code;
    response.set_content(words, "text/plain");
  }

  std::atomic<bool> is_ending = false;

 private:
  void answer(const Request& request, Response& response) {
    std::function<bool(const Request&, Response&)> meddle;
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(request.method);
      meddle = meddle_;
    }
    const auto shown = request.get_header_value("Authorization");
    std::string root;
    if (shown == std::string("Basic ") + kToken)
      root = "/ufmRestV3";
    else if (shown == httplib::make_basic_authentication_header(kUser, kPassword).second)
      root = "/ufmRest";
    else
      return refuse(response, 401, "Unauthorized");
    if (meddle && meddle(request, response)) return;
    const std::scoped_lock lock(mutex_);
    if (request.path == root + "/resources/ports" && request.method == "GET") {
      auto list = Json::array();
      for (const auto& [name, port] : ports_) list.push_back(port);
      return response.set_content(list.dump(), "application/json");
    }
    if (request.path != root + "/app/unhealthy_ports")
      return refuse(response, 404, "<html><title>404 Not Found</title></html>");
    if (request.method == "PUT") return put(request, response);
    if (!pending_.empty() && --pending_.front().reads < 0) {
      pending_.front().make();
      pending_.pop_front();
    }
    auto list = Json::array();
    for (const auto& [name, conditions] : unhealthy_) list.push_back(row(name, conditions));
    response.set_content(list.dump(), "application/json");
  }

  Json row(const std::string& name, const std::set<std::string>& conditions) const {
    const auto guid = [](const std::string& port) { return port.substr(0, port.find('_')); };
    const auto number = [](const std::string& port) { return std::stoi(port.substr(port.find('_') + 1)); };
    Json one{{"UnhealthyGUID", guid(name)},
             {"UnhealthyPortNumber", number(name)},
             {"State", "Info"},
             {"StatusTime", "Wed Apr 29 00:05:32 2020"}};
    one["Condition"] = conditions.size() == 1 ? Json(*conditions.begin()) : Json(conditions);
    const auto port = ports_.find(name);
    if (port == ports_.end() || port->second.value("peer", "N/A") == "N/A") return one;
    one["PeerGUID"] = guid(port->second["peer"]);
    one["PeerPortNumber"] = number(port->second["peer"]);
    return one;
  }

  void put(const Request& request, Response& response) {
    if (is_read_only_) return refuse(response, 403, "Forbidden");
    const auto body = Json::parse(request.body, nullptr, false);
    if (request.get_header_value("Content-Type") != "application/json" || !body.is_object() ||
        !body.contains("ports") || body["ports"].empty())
      return refuse(response, 400, "Bad request");
    const std::string policy = body.value("ports_policy", "");
    const bool isolates = policy == "UNHEALTHY";
    if (!isolates && policy != "HEALTHY") return refuse(response, 400, "ports_policy");
    if (isolates && body.value("action", "") != "isolate") return refuse(response, 400, "action");
    for (const std::string name : body["ports"])
      if (!ports_.contains(name)) return refuse(response, 400, "Port " + name + " does not exist");
    changes_.push_back(request.body);
    for (const std::string name : body["ports"]) {
      const auto make = [this, name, isolates] {
        if (isolates)
          unhealthy_[name].insert("MANUAL");
        else
          unhealthy_.erase(name);
      };
      if (late_ > 0)
        pending_.push_back({late_, make});
      else
        make();
    }
    response.set_content("{}", "application/json");
  }

  struct Pending {
    int reads;
    std::function<void()> make;
  };

  const bus::RunCertificate made_;
  const ScratchFile ca_, key_, token_, password_;
  httplib::SSLServer server_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Json> ports_;
  std::map<std::string, std::set<std::string>> unhealthy_;  // with its conditions
  std::deque<Pending> pending_;
  int late_ = 0;
  bool is_read_only_ = false;
  std::vector<std::string> calls_, changes_;
  std::function<bool(const Request&, Response&)> meddle_;
  std::jthread thread_;
};

}  // namespace weft
