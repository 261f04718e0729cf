// What an API server tells of nodes, well formed or not, and the patches that are made of it.
#include "balancer/export/kubernetes_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::exports {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const KubernetesKeys kKeys;

Json node_json(const char* name = "n1") {
  return {{"kind", "Node"},
          {"metadata", {{"name", name}, {"resourceVersion", "7"}, {"labels", {{"weft/rail1", "ok"}}}}},
          {"spec",
           {{"taints", {{{"key", "a"}, {"effect", "NoExecute"}, {"timeAdded", "2026-01-31T00:00:00Z"}}}}}},
          {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}
KubernetesNode node_of(const Json& json) { return parse_kubernetes_node(json.dump(), "n1").value(); }
Standing at(const Json& json, const std::string& object) {
  return standing_of(node_of(json), object, kKeys).value_or(Standing{.object = "none"});
}
Json with_taint(const std::string& value, const char* effect = "NoSchedule") {
  auto json = node_json();
  json["spec"]["taints"].push_back({{"key", "weft/fabric"}, {"value", value}, {"effect", effect}});
  return json;
}

TEST(KubernetesNode, TellsInServiceOursAndOthers) {
  EXPECT_EQ(at(node_json(), "n1").whose, Whose::nobody);
  const auto ours = at(with_taint("weft.pod7.3"), "n1");
  EXPECT_EQ(ours.whose, Whose::weft);
  EXPECT_EQ(ours.mark, "pod7:3");
  EXPECT_EQ(ours.text, "weft/fabric=weft.pod7.3:NoSchedule");
  EXPECT_EQ(at(with_taint("weft.pod7.3", "NoExecute"), "n1").whose, Whose::weft);
  for (const char* value :
       {"", "weft", "weft.", "weft.pod7", "weft.pod7.", "weft.pod7.x3", "pod7.3", "Weft.pod7.3"})
    EXPECT_EQ(at(with_taint(value), "n1").whose, Whose::others) << value;
  const auto reason = [](auto how) {
    auto json = node_json();
    how(json);
    const auto standing = at(json, "n1");
    return standing.whose == Whose::others ? standing.text : "";
  };
  EXPECT_THAT(reason([](Json& n) { n["spec"]["unschedulable"] = true; }), HasSubstr("cordoned"));
  EXPECT_THAT(reason([](Json& n) { n["metadata"]["deletionTimestamp"] = "2026"; }), HasSubstr("deleted"));
  for (const char* status : {"False", "Unknown"})
    EXPECT_EQ(reason([&](Json& n) { n["status"]["conditions"][0]["status"] = status; }), "not Ready");
  EXPECT_EQ(reason([](Json& n) { n.erase("status"); }), "not Ready");
}

TEST(KubernetesNode, KeepsATaintOfOursThoughOthersCordonTheNode) {
  auto json = with_taint("weft.f.3");
  json["spec"]["unschedulable"] = true;
  EXPECT_EQ(at(json, "n1").whose, Whose::weft);
}

TEST(KubernetesNode, TellsConditionsAndRails) {
  auto json = node_json();
  EXPECT_EQ(at(json, "n1:condition").whose, Whose::nobody);
  json["status"]["conditions"].push_back(
      {{"type", "WeftFabric"}, {"status", "True"}, {"message", "weft: failed n1--leaf1 id=f:3 \"down\"\n"}});
  EXPECT_EQ(at(json, "n1:condition").mark, "f:3");
  EXPECT_EQ(at(json, "n1:condition").text, "weft: failed n1--leaf1 id=f:3 'down'\\x0a");
  json["status"]["conditions"][1]["status"] = "False";
  EXPECT_EQ(at(json, "n1:condition").whose, Whose::others);
  json["status"]["conditions"].erase(1);
  json["spec"]["unschedulable"] = true;
  EXPECT_EQ(at(json, "n1:condition").whose, Whose::others) << "the node is";
  EXPECT_EQ(at(json, "n1:rail1").whose, Whose::nobody);
  EXPECT_EQ(at(json, "n1:rail2").object, "none");
  json["metadata"]["labels"]["weft/rail1"] = "weft.f.3";
  EXPECT_EQ(at(json, "n1:rail1").mark, "f:3");
  json["metadata"]["labels"]["weft/rail1"] = "down";
  EXPECT_EQ(at(json, "n1:rail1").whose, Whose::others);
}

TEST(KubernetesNode, RefusesWhatIsNoWholeNode) {
  const auto refused = [](auto how) {
    auto json = node_json();
    how(json);
    const auto node = parse_kubernetes_node(json.dump(), "n1");
    return !node && node.error().kind == ErrorKind::invalid_input;
  };
  EXPECT_TRUE(refused([](Json& n) { n["kind"] = "Pod"; }));
  EXPECT_TRUE(refused([](Json& n) { n.erase("kind"); }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"]["name"] = "n2"; }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"].erase("resourceVersion"); }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"]["resourceVersion"] = ""; }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"]["resourceVersion"] = 7; }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"]["labels"] = Json::array({"x"}); }));
  EXPECT_TRUE(refused([](Json& n) { n["metadata"]["labels"]["x"] = 1; }));
  EXPECT_TRUE(refused([](Json& n) { n.erase("spec"); })) << "all taints would count as off";
  EXPECT_TRUE(refused([](Json& n) { n["spec"]["taints"] = "x"; }));
  EXPECT_TRUE(refused([](Json& n) { n["spec"]["taints"][0].erase("effect"); }));
  EXPECT_TRUE(refused([](Json& n) { n["spec"]["taints"][0]["value"] = Json::object(); }));
  EXPECT_TRUE(refused([](Json& n) { n["spec"]["unschedulable"] = "true"; }));
  EXPECT_TRUE(refused([](Json& n) { n["status"]["conditions"] = 1; }));
  EXPECT_TRUE(refused([](Json& n) { n["status"]["conditions"][0].erase("status"); }));
  const auto whole = node_json().dump();
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(parse_kubernetes_node(whole.substr(0, size), "n1")) << size;
  EXPECT_FALSE(parse_kubernetes_node(std::string(100'000, '['), "n1"));
}

TEST(KubernetesNode, ReadsListsWholeOrNotAtAll) {
  Json list{
      {"kind", "NodeList"}, {"metadata", {{"continue", "t"}}}, {"items", {node_json("n1"), node_json("n2")}}};
  const auto parsed = parse_kubernetes_nodes(list.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->nodes.size(), 2u);
  EXPECT_EQ(parsed->next, "t");
  list["items"][1]["metadata"]["name"] = "n1";
  EXPECT_FALSE(parse_kubernetes_nodes(list.dump())) << "twice";
  list["items"][1]["metadata"]["name"] = "../n1";
  EXPECT_FALSE(parse_kubernetes_nodes(list.dump()));
  list["items"] = nullptr;
  EXPECT_TRUE(parse_kubernetes_nodes(list.dump())->nodes.empty());
  list["items"] = "x";
  EXPECT_FALSE(parse_kubernetes_nodes(list.dump()));
}

TEST(KubernetesNode, TellsARefusalOfKubernetesFromAnyOther) {
  EXPECT_EQ(parse_kubernetes_status(R"({"kind":"Status","reason":"NotFound","message":"m"})").reason,
            "NotFound");
  for (const char* text :
       {"", "<html>", "[]", "7", R"({"reason":"NotFound"})", R"({"kind":"Status","reason":3})"})
    EXPECT_EQ(parse_kubernetes_status(text).reason, "") << text;
}

TEST(KubernetesNode, TakesNothingButAClearAnswerForARight) {
  const auto allowed = [](const char* status) {
    const auto answer =
        parse_access_answer(fmt::format(R"({{"kind":"SelfSubjectAccessReview","status":{}}})", status));
    return answer && answer->is_allowed;
  };
  EXPECT_TRUE(allowed(R"({"allowed":true})"));
  for (const char* status :
       {"{}", "null", R"({"allowed":false})", R"({"allowed":"true"})", R"({"allowed":1})"})
    EXPECT_FALSE(allowed(status)) << status;
}

Result<Json> patch_of(const Json& json, const Change& change) {
  WEFT_TRY(const auto patch, patch_for(node_of(json), change, kKeys, "2026-01-31T00:00:00Z"));
  return patch ? Json::parse(patch->body) : Json();
}

TEST(KubernetesPatch, KeepsTaintsOfOthersWithAllThatTheyHave) {
  const Change put{.act = Act::put, .object = "n1", .before = "in service", .set = taint_text(kKeys, "f:3")};
  const auto patch = patch_of(node_json(), put);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["resourceVersion"], "7");
  EXPECT_EQ((*patch)["spec"]["taints"],
            Json({{{"key", "a"}, {"effect", "NoExecute"}, {"timeAdded", "2026-01-31T00:00:00Z"}},
                  {{"key", "weft/fabric"}, {"value", "weft.f.3"}, {"effect", "NoSchedule"}}}));
  auto ours = node_json();
  ours.merge_patch(*patch);
  auto back = reversed(put);
  EXPECT_EQ((*patch_of(ours, back))["spec"], node_json()["spec"]);
  EXPECT_TRUE(patch_of(node_json(), back)->is_null()) << "it is off";
  EXPECT_TRUE(patch_of(ours, put)->is_null()) << "it stands";
  const Change pass{.act = Act::pass, .object = "n1", .before = put.set, .set = taint_text(kKeys, "f:4")};
  EXPECT_EQ((*patch_of(ours, pass))["spec"]["taints"][1]["value"], "weft.f.4");
}

TEST(KubernetesPatch, IsMadeOfNothingButWhatItWasPlannedFor) {
  const Change put{.act = Act::put, .object = "n1", .before = "in service", .set = taint_text(kKeys, "f:3")};
  const auto kind = [](const Json& json, const Change& change) {
    const auto patch = patch_of(json, change);
    return patch ? ErrorKind::usage : patch.error().kind;
  };
  EXPECT_EQ(kind(with_taint("by-hand"), put), ErrorKind::conflict);
  EXPECT_EQ(kind(with_taint("weft.f.4"), put), ErrorKind::conflict);
  EXPECT_EQ(kind(with_taint("weft.f.4"), reversed(put)), ErrorKind::conflict);
  auto change = put;
  change.object = "n1:rail2";
  EXPECT_EQ(kind(node_json(), change), ErrorKind::conflict) << "it has no such label";
  for (const char* set : {"", ":", "weft/fabric=:NoSchedule", "weft/fabric=weft.f.3:NoExecute",
                          "weft/fabric=", "other=weft.f.3:NoSchedule", "weft/fabric=x:NoSchedule"}) {
    change = put, change.set = set;
    EXPECT_EQ(kind(node_json(), change), ErrorKind::internal) << set;
  }
}

TEST(KubernetesWords, AreThoseOfTheApi) {
  for (const char* name : {"n", "gpu-001.pod7", "0a", "a.b-c.d"}) EXPECT_TRUE(is_node_name(name)) << name;
  for (const char* name : {"", ".", "-a", "a-", "a..b", "a.", ".a", "a.-b", "a-.b", "A", "a_b", "a/b", "a:b",
                           "a b", "ä", "%2e", ".."})
    EXPECT_FALSE(is_node_name(name)) << name;
  EXPECT_FALSE(is_node_name(std::string(254, 'a')));
  for (const char* mark : {"pod7:3", "a.b:1", ":1", "x-y_z.1:18446744073709551615"})
    EXPECT_EQ(mark_in_value(mark_value(mark)), mark);
  const auto longest = mark_value(mark_id(std::string(80, '_'), EntryId(99'999'999'999'999'999)));
  EXPECT_EQ(longest.size(), 63u);
  EXPECT_EQ(entry_of("pod7", *mark_in_value("weft.pod7.3")), EntryId(3));
}

TEST(KubernetesNode, AListWithoutItemsIsNone) {
  EXPECT_FALSE(parse_kubernetes_nodes(R"({"kind":"NodeList","metadata":{}})"));
  EXPECT_TRUE(parse_kubernetes_nodes(R"({"kind":"NodeList","metadata":{},"items":null})"));
}

TEST(KubernetesWords, RefuseKeysThatTheApiWould) {
  const auto is_fine = [](KubernetesKeys keys) { return check_keys(keys).has_value(); };
  EXPECT_FALSE(is_fine({.taint = "node.kubernetes.io/unschedulable"}));
  EXPECT_FALSE(is_fine({.rail = "kubernetes.io/rail"}));
  EXPECT_TRUE(is_fine({}));
  EXPECT_TRUE(
      is_fine({.taint = "fabric", .effect = "NoExecute", .condition = "Site.Fabric", .rail = "a.example/r"}));
  for (const char* key : {"", "/x", "x/", "a/b/c", "A/b", "a b", "x=y", "-x"})
    EXPECT_FALSE(is_fine({.taint = key})) << key;
  EXPECT_FALSE(is_fine({.taint = std::string(64, 'x')}));
  EXPECT_FALSE(is_fine({.effect = "noschedule"}));
  for (const char* type : {"", "Ready", "a b", "DiskPressure"})
    EXPECT_FALSE(is_fine({.condition = type})) << type;
  EXPECT_FALSE(is_fine({.rail = "a/"}) && is_fine({.rail = "-"}));
}

TEST(KubernetesWords, TakeObjectsApart) {
  EXPECT_EQ(parse_kubernetes_object("n1:rail12")->rail, 12u);
  EXPECT_EQ(parse_kubernetes_object("n1:condition")->part, KubernetesObject::Part::condition);
  for (const char* object :
       {"", "n1:", "n1:rail", "n1:railx", "n1:rail1x", "n1:rail99999999999", "n1:other", "N1", "n1::"})
    EXPECT_FALSE(parse_kubernetes_object(object)) << object;
}

}  // namespace
}  // namespace weft::exports
