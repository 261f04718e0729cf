#include "topology/base/instant.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/files/json_fields.hpp"
#include "topology/files/json_text.hpp"

namespace weft::files {
namespace {

constexpr std::string_view kMutesSchema = "weft.mutes/1";

// Ten thousand mutes of some 400 bytes; a bucket's value holds 1 MB at most all the same.
constexpr JsonLimits kMuteLimits{.bytes = 1'000'000, .depth = 4, .values = 150'000};

struct NamedMute {
  std::string target;
  Mute mute;
};

Result<NamedMute> as_mute(const JsonView& view) {
  NamedMute read{.target = {}, .mute = {}};
  const auto time = [&](std::string_view key, Nanoseconds& place) {
    return need_member(view, key, place, as_instant);
  };
  const auto link = view.find("link");
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, link ? "link" : "node", read.target, as_text); },
                        [&] { return time("from", read.mute.from); },
                        [&] { return time("until", read.mute.until); },
                        [&] { return need_member(view, "reason", read.mute.reason, as_text); },
                        [&] { return need_member(view, "who", read.mute.who, as_text); }));
  if (read.mute.until <= read.mute.from) return view.error("it ends before it begins");
  return read;
}

}  // namespace

Result<MuteTarget> find_mute_target(const Fabric& fabric, std::string_view name) {
  if (const auto node = fabric.find_node(name)) return MuteTarget(*node);
  if (name.find("--") == std::string_view::npos) {
    WEFT_TRY(const auto node, fabric.find_node(name));
    return MuteTarget(node);
  }
  WEFT_TRY(const auto link, fabric.find_link(name));
  return MuteTarget(link);
}

std::string mutes_text(const Fabric& fabric, const Mutes& mutes) {
  DocumentTree tree;
  tree["schema"] = kMutesSchema;
  tree["fabric"] = fabric.name();
  tree["mutes"] = DocumentTree::array();
  for (const Mute& mute : mutes) {
    DocumentTree one;
    one[std::holds_alternative<LinkId>(mute.target) ? "link" : "node"] = name_of(fabric, mute.target);
    one["from"] = instant_text(mute.from);
    one["until"] = instant_text(mute.until);
    one["reason"] = mute.reason;
    one["who"] = mute.who;
    tree["mutes"].push_back(std::move(one));
  }
  return document_line(tree);
}

Result<ReadMutes> parse_mutes(const Fabric& fabric, std::string_view text, std::string_view what) {
  if (text.empty()) return ReadMutes{};
  if (const auto fits = check_json_limits(text, kMuteLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, parse_json(text, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, kMutesSchema));
  WEFT_TRY(const auto list, root.need("mutes"));
  WEFT_TRY(auto named, read_array<NamedMute>(list, as_mute));
  ReadMutes read;
  for (NamedMute& each : named) {
    if (const auto target = find_mute_target(fabric, each.target)) {
      each.mute.target = *target;
      read.mutes.push_back(std::move(each.mute));
    } else {
      read.unknown.push_back(std::move(each.target));
    }
  }
  return read;
}

}  // namespace weft::files
