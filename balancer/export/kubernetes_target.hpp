// KubernetesTarget: a Kubernetes cluster by the REST interface of its API server. A host that is out of use
// has a taint, and a condition with the evidence; with `--nic rail` the label of that rail says so. Nothing
// of others is written: a change names the version of the node that it was made for.
#pragma once

#include <memory>
#include <set>

#include "balancer/export/kubernetes_api.hpp"
#include "balancer/export/kubernetes_devices.hpp"
#include "balancer/export/kubernetes_node.hpp"
#include "balancer/export/translate.hpp"

namespace weft::exports {

/// Rules of single devices (DeviceTaintRule), as the server has them.
class KubernetesDevices {
 public:
  /// `api` must outlive it.
  KubernetesDevices(RestApi& api, KubernetesKeys keys) : api_(api), keys_(std::move(keys)) {}

  /// Those of all objects that are devices, and orphans.
  Result<std::vector<Standing>> read(std::span<const std::string> objects);
  Result<void> make(const Change& change);
  std::string by_hand(const KubernetesObject& object, const Change& change) const {
    return device_line(keys_, object, change, version_.value_or("v1alpha3"));
  }

 private:
  /// Of the API, asked for once. Error: not_supported, the server has none that knows taints of devices.
  Result<std::string> version();
  Result<DeviceRulesByName> rules();

  RestApi& api_;
  KubernetesKeys keys_;
  std::optional<std::string> version_;
  std::optional<DeviceRulesByName> rules_;  // as read last
};

class KubernetesTarget : public Target {
 public:
  KubernetesTarget(std::unique_ptr<RestApi> api, KubernetesKeys keys)
      : api_(std::move(api)), keys_(std::move(keys)), devices_(*api_, keys_) {}

  std::string_view name() const override { return "kubernetes"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_kubernetes(ledger, fabric, policy, keys_);
  }
  Result<void> check_rights() override;
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  Result<void> apply(std::span<const Change> changes) override;
  std::string by_hand(const Change& change) const override;
  std::string subject_of(const std::string& object) const override;

 private:
  Result<std::vector<Standing>> read_nodes(std::span<const std::string> objects);
  Result<void> make(const Change& change);

  std::unique_ptr<RestApi> api_;
  KubernetesKeys keys_;
  KubernetesDevices devices_;
  bool has_seen_a_node_ = false;
};

}  // namespace weft::exports
