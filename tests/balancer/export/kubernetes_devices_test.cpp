#include "balancer/export/kubernetes_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::exports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

const KubernetesKeys kKeys{.driver = "dra.net", .device = "mlx5-%", .fabric = "f"};

DeviceRule rule(const std::string& mark = "f:3") {
  return {.name = device_rule_name(kKeys, "gpu1", 2),
          .version = "7",
          .uid = "u",
          .driver = "dra.net",
          .pool = "gpu1",
          .device = "mlx5-2",
          .key = "weft/fabric",
          .value = mark_value(mark),
          .effect = "NoSchedule"};
}
DeviceRulesByName rules(const DeviceRule& one) { return {{one.name, one}}; }
const KubernetesObject kObject{"gpu1", KubernetesObject::Part::device, 2};

Change change(Act act, const std::string& before, const std::string& set) {
  return {.act = act, .target = "kubernetes", .object = "gpu1:device2", .before = before, .set = set};
}

TEST(KubernetesDevices, TellNobodysOursAndOthers) {
  const auto none = device_standing({}, kObject, kKeys);
  EXPECT_EQ(none.whose, Whose::nobody);
  const auto ours = device_standing(rules(rule()), kObject, kKeys);
  EXPECT_EQ(ours.whose, Whose::weft);
  EXPECT_EQ(ours.mark, "f:3");
  EXPECT_EQ(ours.text, "dra.net gpu1/mlx5-2 weft/fabric=weft.f.3:NoSchedule");
  EXPECT_EQ(ours.text, device_text(kKeys, "gpu1", 2, "f:3"));
  EXPECT_TRUE(ours.in_effect);
  EXPECT_EQ(device_standing(rules(rule("other:3")), kObject, kKeys).whose, Whose::others);
  auto changed = rule();
  changed.key = "site/broken";
  EXPECT_EQ(device_standing(rules(changed), kObject, kKeys).whose, Whose::others);
  changed = rule();
  changed.effect = "None";
  EXPECT_FALSE(device_standing(rules(changed), kObject, kKeys).in_effect) << "somebody made it a dry run";
  EXPECT_THAT(marked_devices(rules(rule()), kKeys), ElementsAre("gpu1:device2"));
  EXPECT_THAT(marked_devices(rules(rule("other:3")), kKeys), IsEmpty());
  changed = rule();
  changed.pool = "gpu2";
  EXPECT_THAT(marked_devices(rules(changed), kKeys), IsEmpty()) << "no name that weft gives";
}

TEST(KubernetesDevices, AreChangedAsPlannedOrNotAtAll) {
  const auto text = device_text(kKeys, "gpu1", 2, "f:3");
  const auto put = device_call({}, change(Act::put, "no taint of it", text), kKeys, "v1beta2");
  ASSERT_TRUE(put && *put);
  EXPECT_EQ((*put)->method, "POST");
  EXPECT_EQ((*put)->path, "/apis/resource.k8s.io/v1beta2/devicetaintrules");
  const auto body = Json::parse((*put)->body);
  EXPECT_EQ(body["apiVersion"], "resource.k8s.io/v1beta2");
  EXPECT_EQ(body["spec"]["deviceSelector"],
            (Json{{"driver", "dra.net"}, {"pool", "gpu1"}, {"device", "mlx5-2"}}));
  EXPECT_EQ(body["spec"]["taint"],
            (Json{{"key", "weft/fabric"}, {"value", "weft.f.3"}, {"effect", "NoSchedule"}}));
  EXPECT_EQ(device_call(rules(rule()), change(Act::put, "no taint of it", text), kKeys, "v1")->has_value(),
            false)
      << "it stands";
  const auto theirs = device_call(rules(rule("z:1")), change(Act::put, "no taint of it", text), kKeys, "v1");
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().kind, ErrorKind::conflict);
  const auto take = device_call(rules(rule()), change(Act::take, text, "no taint of it"), kKeys, "v1");
  ASSERT_TRUE(take && *take);
  EXPECT_EQ((*take)->method, "DELETE");
  EXPECT_EQ(Json::parse((*take)->body)["preconditions"], (Json{{"uid", "u"}, {"resourceVersion", "7"}}));
  EXPECT_FALSE(device_call(rules(rule("f:9")), change(Act::take, text, "no taint of it"), kKeys, "v1"))
      << "another entry's by now";
  const auto pass =
      device_call(rules(rule()), change(Act::pass, text, device_text(kKeys, "gpu1", 2, "f:9")), kKeys, "v1");
  ASSERT_TRUE(pass && *pass);
  EXPECT_EQ((*pass)->method, "PATCH");
  EXPECT_EQ(Json::parse((*pass)->body)["metadata"]["resourceVersion"], "7");
}

TEST(KubernetesDevices, TakeTheVersionThatTheServerPrefersFirst) {
  const auto versions = parse_api_versions(
      R"({"kind": "APIGroup", "versions": [{"version": "v1"}, {"version": "v1beta2"}, {"version": "v1alpha3"}],
          "preferredVersion": {"version": "v1beta2"}})");
  ASSERT_TRUE(versions) << versions.error().message;
  EXPECT_THAT(*versions, ElementsAre("v1beta2", "v1", "v1alpha3"));
  EXPECT_FALSE(parse_api_versions(R"({"kind": "APIGroup", "versions": [{"version": "v1/../../api"}]})"));
  EXPECT_FALSE(parse_api_versions(R"({"kind": "Status", "code": 404})"));
  EXPECT_EQ(has_device_rules(R"({"kind": "APIResourceList", "resources": [{"name": "devicetaintrules"}]})"),
            true);
  EXPECT_EQ(has_device_rules(R"({"kind": "APIResourceList", "resources": []})"), false);
  EXPECT_FALSE(has_device_rules(R"({"kind": "APIResourceList"})"));
}

TEST(KubernetesDevices, ReadsListsWholeOrNotAtAll) {
  const auto list = [](const std::string& items) {
    return parse_device_rules(R"({"kind": "DeviceTaintRuleList", "metadata": {}, "items": )" + items + "}");
  };
  const std::string one =
      R"({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": {"taint": {"key": "k", "effect": "None"}}})";
  ASSERT_TRUE(list("[" + one + "]"));
  EXPECT_EQ(list("[" + one + "]")->rules.front().driver, "") << "of all devices";
  EXPECT_TRUE(list("null"));
  EXPECT_THAT(list("[" + one + "," + one + "]").error().message, HasSubstr("twice"));
  EXPECT_FALSE(list("[{}]"));
  EXPECT_FALSE(parse_device_rules(R"({"kind": "DeviceTaintRuleList", "metadata": {}})"));
}

TEST(KubernetesDevices, HaveKeysThatTheApiTakes) {
  EXPECT_TRUE(check_keys(kKeys));
  for (const char* device : {"mlx5", "", "Mlx5-%", "%/x", "a b%"}) {
    auto keys = kKeys;
    keys.device = device;
    EXPECT_FALSE(check_keys(keys)) << device;
  }
  auto keys = kKeys;
  keys.effect = "PreferNoSchedule";
  EXPECT_FALSE(check_keys(keys));
  EXPECT_TRUE(is_node_name(device_rule_name({.fabric = "Pod_7:a"}, "gpu1", 3))) << "as names of objects are";
}

}  // namespace
}  // namespace weft::exports
