#include "balancer/blacklist/entry.hpp"
#include "topology/files/json_fields.hpp"

namespace weft::blacklist {
namespace {

const auto as_verdict = files::as_word(&parse_verdict, "healthy, unknown, congested, degraded or failed");
const auto as_layer = files::as_word(&files::parse_fabric_kind, "roce or infiniband");

Result<files::LinkReference> as_link(const files::JsonView& root) {
  WEFT_TRY_VOID(root.need("a"));
  WEFT_TRY(auto link, read_ends(root, {}));
  const auto& [a, b] = std::tie(link->a, link->b);
  link->name = fmt::format("{}/p{}--{}/p{}", a.node, a.port.value(), b.node, b.port.value());
  return std::move(*link);
}

Result<BlacklistEntry> parse_entry(std::string_view line, std::string_view what) {
  WEFT_TRY(const auto json, files::parse_json(line, what));
  const files::JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, "weft.blacklist/1"));
  WEFT_TRY(auto link, as_link(root));
  BlacklistEntry entry{.link = std::move(link)};
  const auto done =
      in_turn([&] { return need_member(root, "id", entry.id, files::as_text); },
              [&] { return need_member(root, "fabric", entry.fabric, files::as_text); },
              [&] { return need_member(root, "layer", entry.layer, as_layer); },
              [&] { return need_member(root, "verdict", entry.verdict, as_verdict); },
              [&] { return need_member(root, "confidence", entry.confidence, files::as_share); },
              [&] { return read_member(root, "evidence", entry.evidence, files::read_texts); },
              [&] { return need_member(root, "first_seen", entry.first_seen, files::as_time); },
              [&] { return need_member(root, "last_seen", entry.last_seen, files::as_time); },
              [&] { return need_member(root, "expires", entry.expires, files::as_time); },
              [&] { return need_member(root, "owner", entry.owner, files::as_text); },
              [&] { return read_member(root, "actions", entry.actions, files::read_texts); });
  if (!done) return pass_on(done);
  return entry;
}

}  // namespace

Result<std::vector<BlacklistEntry>> parse_blacklist(std::string_view text, std::string_view what) {
  return files::read_lines<BlacklistEntry>(text, what, parse_entry);
}

}  // namespace weft::blacklist
