// A Kubernetes API server as far as nodes go, over TLS with a certificate made for the test: versions that
// really conflict, merge patches as the API describes them, lists in parts, access reviews. It can be made to
// refuse, to be slow or to answer with anything.
#pragma once

#include <httplib.h>

#include <atomic>
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
#include "tests/fakes/fake_device_rules.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft {

class FakeKubernetes {
 public:
  using Json = nlohmann::json;
  using Request = httplib::Request;
  using Response = httplib::Response;
  static constexpr const char* kTokenEnd = "+&=";  // of lists: characters that a query has to escape
  static constexpr const char* kToken = "abc.def-123_of-a-test";

  /// `client`: a certificate in PEM that a client has to show, and then no token is asked for; empty: a
  /// token.
  explicit FakeKubernetes(const std::string& client = {})
      : made_(bus::make_certificate_of("localhost").value()),
        ca_(made_.certificate),
        key_(made_.key),
        token_(std::string(kToken) + "\n"),
        client_(client),
        by_certificate_(!client.empty()),
        server_(ca_.path().c_str(), key_.path().c_str(), by_certificate_ ? client_.path().c_str() : nullptr) {
    std::filesystem::permissions(token_.path(), std::filesystem::perms::owner_read);
    const auto handle = [this](const Request& request, Response& response) { answer(request, response); };
    server_.Get(".*", handle);
    server_.Post(".*", handle);
    server_.Patch(".*", handle);
    server_.Delete(".*", handle);
    server_.set_keep_alive_timeout(1);
    server_.set_tcp_nodelay(true);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    // A server that is told to stop before it runs never stops.
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeKubernetes() { stop(); }
  FakeKubernetes(const FakeKubernetes&) = delete;
  FakeKubernetes& operator=(const FakeKubernetes&) = delete;

  std::string url() const { return "https://localhost:" + std::to_string(port_); }
  std::string ca_file() const { return ca_.path(); }
  const std::string& ca_text() const { return made_.certificate; }
  std::string token_file() const { return token_.path(); }
  int port() const { return port_; }
  void stop() {
    is_ending = true;
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void add_node(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    nodes_[name] = {{"apiVersion", "v1"},
                    {"kind", "Node"},
                    {"metadata",
                     {{"name", name},
                      {"resourceVersion", std::to_string(++version_)},
                      {"labels", {{"kubernetes.io/hostname", name}}}}},
                    {"spec", Json::object()},
                    {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  }
  /// What another writer does.
  void change(const std::string& name, const std::function<void(Json&)>& how) {
    const std::scoped_lock lock(mutex_);
    how(nodes_.at(name));
    nodes_.at(name)["metadata"]["resourceVersion"] = std::to_string(++version_);
  }
  void drop_node(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    nodes_.erase(name);
  }
  Json node(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    return nodes_.at(name);
  }
  /// `KEY=VALUE:EFFECT` of each taint.
  std::vector<std::string> taints(const std::string& name) const {
    std::vector<std::string> texts;
    const auto spec = node(name)["spec"];
    for (const Json& taint : spec.value("taints", Json::array()))
      texts.push_back(taint["key"].get<std::string>() + "=" + taint.value("value", "") + ":" +
                      taint["effect"].get<std::string>());
    return texts;
  }
  /// The message of the condition of that type; empty: there is none.
  std::string condition(const std::string& name, const std::string& type = "WeftFabric") const {
    const auto status = node(name)["status"];
    for (const Json& one : status["conditions"])
      if (one["type"] == type) return one.value("message", "");
    return {};
  }
  /// `METHOD PATH` of each call, in their order.
  std::vector<std::string> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  std::size_t calls_of(const std::string& method) const {
    const auto all = calls();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const auto& call) { return call.starts_with(method + " "); }));
  }

  /// Before a call is served; true: it was answered.
  void meddle(std::function<bool(const Request&, Response&)> how) {
    const std::scoped_lock lock(mutex_);
    meddle_ = std::move(how);
  }
  /// Another reader or writer of rules, between calls.
  template <class Work>
  auto with_devices(Work work) {
    const std::scoped_lock lock(mutex_);
    return work(devices_);
  }
  /// `nodes`, `nodes/status`: what this account may not patch.
  void deny(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    denied_.insert(what);
  }

  static void refuse(Response& response, int code, const std::string& reason,
                     const std::string& message = "no") {
    response.status = code;
    response.set_content(Json{{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"status", "Failure"},
                              {"reason", reason},
                              {"message", message},
                              {"code", code}}
                             .dump(),
                         "application/json");
  }

  std::atomic<bool> is_ending = false;

 private:
  void answer(const Request& request, Response& response) {
    std::function<bool(const Request&, Response&)> meddle;
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(request.method + " " + request.path);
      meddle = meddle_;
    }
    if (!by_certificate_ && request.get_header_value("Authorization") != std::string("Bearer ") + kToken)
      return refuse(response, 401, "Unauthorized", "Unauthorized");
    if (meddle && meddle(request, response)) return;
    const std::scoped_lock lock(mutex_);
    if (request.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" && request.method == "POST")
      return review(request, response);
    if (devices_.answer(request, response,
                        [&](int code, const std::string& reason) { refuse(response, code, reason); }))
      return;
    const std::string nodes = "/api/v1/nodes";
    if (request.path == nodes && request.method == "GET") return list(request, response);
    if (!request.path.starts_with(nodes + "/")) return refuse(response, 404, "", "no such resource");
    auto name = request.path.substr(nodes.size() + 1);
    const bool of_status = name.ends_with("/status");
    if (of_status) name.resize(name.size() - std::string("/status").size());
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return refuse(response, 404, "NotFound", "nodes \"" + name + "\" not found");
    if (request.method == "PATCH" && !patch(request, response, found->second, of_status)) return;
    response.set_content(found->second.dump(), "application/json");
  }

  void review(const Request& request, Response& response) const {
    auto body = Json::parse(request.body);
    const auto& asked = body["spec"]["resourceAttributes"];
    std::string what = asked["resource"];
    if (asked.contains("subresource")) what += "/" + asked["subresource"].get<std::string>();
    const bool of_rules = asked.value("group", "") == "resource.k8s.io" && what == "devicetaintrules";
    body["status"] = {{"allowed", (asked["verb"] == "patch" || of_rules) && !denied_.contains(what)}};
    response.status = 201;
    response.set_content(body.dump(), "application/json");
  }

  /// Names in their order; a part ends at `limit`, and its last name is the token of the next.
  void list(const Request& request, Response& response) const {
    const auto limit =
        request.has_param("limit") ? std::stoul(request.get_param_value("limit")) : nodes_.size();
    auto after = request.get_param_value("continue");
    if (!after.empty() && !after.ends_with(kTokenEnd))
      return refuse(response, 410, "Expired", "the provided continue parameter is no token");
    if (!after.empty()) after.resize(after.size() - std::string(kTokenEnd).size());
    Json body{
        {"kind", "NodeList"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"items", Json::array()}};
    for (auto at = nodes_.upper_bound(after); at != nodes_.end(); ++at) {
      if (body["items"].size() == limit) {
        body["metadata"]["continue"] =
            body["items"].back()["metadata"]["name"].get<std::string>() + kTokenEnd;
        break;
      }
      auto item = at->second;
      item.erase("kind"), item.erase("apiVersion");  // items of a list have none
      body["items"].push_back(std::move(item));
    }
    response.set_content(body.dump(), "application/json");
  }

  bool patch(const Request& request, Response& response, Json& node, bool of_status) {
    if (denied_.contains(of_status ? "nodes/status" : "nodes"))
      return refuse(response, 403, "Forbidden", "may not patch"), false;
    const auto type = request.get_header_value("Content-Type");
    if (type != (of_status ? "application/strategic-merge-patch+json" : "application/merge-patch+json"))
      return refuse(response, 415, "UnsupportedMediaType", type), false;
    const auto body = Json::parse(request.body);
    const auto metadata = body.value("metadata", Json::object());
    if (metadata.contains("resourceVersion") &&
        metadata["resourceVersion"] != node["metadata"]["resourceVersion"])
      return refuse(response, 409, "Conflict", "the object has been modified"), false;
    auto changed = node;
    if (of_status) {
      for (const Json& one : body["status"]["conditions"])
        merge_condition(changed["status"]["conditions"], one);
    } else {
      auto of_spec = body;
      of_spec.erase("status");
      changed.merge_patch(of_spec);
    }
    if (const auto wrong = what_is_wrong(changed); !wrong.empty())
      return refuse(response, 422, "Invalid", wrong), false;
    node = std::move(changed);
    node["metadata"]["resourceVersion"] = std::to_string(++version_);
    return true;
  }

  /// By type, as a strategic merge patch has it.
  static void merge_condition(Json& all, const Json& one) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]["type"] != one["type"]) continue;
      if (one.value("$patch", "") == "delete")
        all.erase(i);
      else
        all[i].merge_patch(one);
      return;
    }
    if (!one.contains("$patch")) all.push_back(one);
  }

  static bool is_value(const std::string& text) {
    const auto is_fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (text.empty()) return true;
    return text.size() <= 63 && is_fine(text.front()) && is_fine(text.back()) &&
           std::ranges::all_of(text, [&](char c) { return is_fine(c) || c == '-' || c == '_' || c == '.'; });
  }
  static std::string what_is_wrong(const Json& node) {
    for (const auto& [key, value] : node["metadata"]["labels"].items())
      if (!is_value(value)) return "metadata.labels: " + key;
    std::set<std::string> seen;
    for (const Json& taint : node["spec"].value("taints", Json::array())) {
      const std::string effect = taint["effect"];
      if (!is_value(taint.value("value", ""))) return "spec.taints: value";
      if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
        return "spec.taints: effect";
      if (!seen.insert(taint["key"].get<std::string>() + ":" + effect).second) return "spec.taints: twice";
    }
    return {};
  }

  const bus::RunCertificate made_;
  const ScratchFile ca_, key_, token_, client_;
  const bool by_certificate_;
  httplib::SSLServer server_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Json> nodes_;
  FakeDeviceRules devices_;
  int version_ = 100;
  std::vector<std::string> calls_;
  std::set<std::string> denied_;
  std::function<bool(const Request&, Response&)> meddle_;
  std::jthread thread_;
};

}  // namespace weft
