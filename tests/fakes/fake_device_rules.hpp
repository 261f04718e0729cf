// DeviceTaintRules of a Kubernetes API server (group resource.k8s.io): discovery, versions that really
// conflict, preconditions of a deletion. Part of FakeKubernetes, which locks.
#pragma once

#include <httplib.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace weft {

class FakeDeviceRules {
 public:
  using Json = nlohmann::json;
  using Refuse = std::function<void(int code, const std::string& reason)>;

  /// Versions of the group, and in which of them there are such rules; empty: the group is not there.
  std::map<std::string, bool> versions;
  std::string preferred;
  std::map<std::string, Json> rules;  // by name

  /// False: the path is of something else.
  bool answer(const httplib::Request& request, httplib::Response& response, const Refuse& refuse) {
    const std::string group = "/apis/resource.k8s.io";
    if (!request.path.starts_with(group)) return false;
    const auto send = [&](const Json& body) { response.set_content(body.dump(), "application/json"); };
    if (versions.empty()) return refuse(404, "NotFound"), true;
    if (request.path == group) return send(discovery()), true;
    for (const auto& [version, has] : versions) {
      const auto of_version = group + "/" + version;
      if (request.path == of_version) return send(resources(version, has)), true;
      const auto all = of_version + "/devicetaintrules";
      if (!has || !request.path.starts_with(all)) continue;
      if (request.path == all && request.method == "GET") return send(list(version)), true;
      if (request.path == all && request.method == "POST")
        return create(Json::parse(request.body), send, refuse), true;
      const auto found = rules.find(request.path.substr(std::min(all.size() + 1, request.path.size())));
      if (found == rules.end()) return refuse(404, "NotFound"), true;
      return change(request, found, send, refuse), true;
    }
    return refuse(404, ""), true;
  }
  /// What another writer does.
  void touch(const std::string& name) { rules.at(name)["metadata"]["resourceVersion"] = next(); }

 private:
  std::string next() { return std::to_string(++version_); }

  Json discovery() const {
    Json body{
        {"kind", "APIGroup"}, {"apiVersion", "v1"}, {"name", "resource.k8s.io"}, {"versions", Json::array()}};
    for (const auto& [version, has] : versions)
      body["versions"].push_back({{"groupVersion", "resource.k8s.io/" + version}, {"version", version}});
    body["preferredVersion"] = {{"groupVersion", "resource.k8s.io/" + preferred}, {"version", preferred}};
    return body;
  }
  static Json resources(const std::string& version, bool has) {
    Json body{{"kind", "APIResourceList"},
              {"groupVersion", "resource.k8s.io/" + version},
              {"resources", Json::array({{{"name", "resourceslices"}, {"kind", "ResourceSlice"}}})}};
    if (has) body["resources"].push_back({{"name", "devicetaintrules"}, {"kind", "DeviceTaintRule"}});
    return body;
  }
  Json list(const std::string& version) const {
    Json body{{"kind", "DeviceTaintRuleList"},
              {"apiVersion", "resource.k8s.io/" + version},
              {"metadata", Json::object()},
              {"items", Json::array()}};
    for (const auto& [name, rule] : rules) body["items"].push_back(rule);
    return body;
  }
  template <class Send>
  void create(Json rule, const Send& send, const Refuse& refuse) {
    const std::string name = rule["metadata"]["name"];
    if (rules.contains(name)) return refuse(409, "AlreadyExists");
    rule["metadata"]["resourceVersion"] = next();
    rule["metadata"]["uid"] = "uid-" + next();
    rules[name] = rule;
    send(rule);
  }
  template <class At, class Send>
  void change(const httplib::Request& request, At at, const Send& send, const Refuse& refuse) {
    auto& metadata = at->second["metadata"];
    const auto body = request.body.empty() ? Json::object() : Json::parse(request.body);
    const auto wanted = body.value(request.method == "DELETE" ? "preconditions" : "metadata", Json::object());
    for (const char* member : {"uid", "resourceVersion"})
      if (wanted.contains(member) && wanted[member] != metadata[member]) return refuse(409, "Conflict");
    if (request.method == "DELETE") {
      rules.erase(at);
      return send({{"kind", "Status"}, {"status", "Success"}});
    }
    if (request.method != "PATCH") return refuse(405, "MethodNotAllowed");
    at->second.merge_patch(body);
    metadata["resourceVersion"] = next();
    send(at->second);
  }

  int version_ = 500;
};

}  // namespace weft
