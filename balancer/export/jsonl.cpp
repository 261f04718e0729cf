#include "balancer/export/jsonl.hpp"

namespace weft {
namespace {

void put_member(JsonText& out, std::string_view key, std::string_view text) {
  put(out, ",\"{}\":", key);
  put_string(out, text);
}

void put_texts(JsonText& out, std::string_view key, const std::vector<std::string>& texts) {
  put(out, ",\"{}\":", key);
  put_array(out, texts, [&](const std::string& text) { put_string(out, text); });
}

void put_entry(JsonText& out, const BlacklistEntry& entry) {
  put(out, "{{\"schema\":\"weft.blacklist/1\"");
  put_member(out, "id", entry.id);
  put_member(out, "fabric", entry.fabric);
  put_member(out, "layer", to_string(entry.layer));
  put_ends(out, entry.link);
  put_member(out, "verdict", to_string(entry.verdict));
  put(out, ",\"confidence\":");
  put_number(out, entry.confidence);
  put_texts(out, "evidence", entry.evidence);
  put_member(out, "first_seen", to_string(entry.first_seen));
  put_member(out, "last_seen", to_string(entry.last_seen));
  put_member(out, "expires", to_string(entry.expires));
  put_member(out, "owner", entry.owner);
  put_texts(out, "actions", entry.actions);
  put(out, "}}\n");
}

}  // namespace

std::string blacklist_jsonl(std::span<const BlacklistEntry> entries) {
  JsonText out;
  for (const auto& entry : entries) put_entry(out, entry);
  return fmt::to_string(out);
}

}  // namespace weft
