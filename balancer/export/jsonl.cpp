#include "balancer/export/jsonl.hpp"

namespace weft::exports {
namespace {

void put_member(files::JsonText& out, std::string_view key, std::string_view text) {
  files::put(out, ",\"{}\":", key);
  files::put_string(out, text);
}

void put_texts(files::JsonText& out, std::string_view key, const std::vector<std::string>& texts) {
  files::put(out, ",\"{}\":", key);
  files::put_array(out, texts, [&](const std::string& text) { files::put_string(out, text); });
}

void put_entry(files::JsonText& out, const blacklist::BlacklistEntry& entry) {
  files::put(out, "{{\"schema\":\"weft.blacklist/1\"");
  put_member(out, "id", entry.id);
  put_member(out, "fabric", entry.fabric);
  put_member(out, "layer", to_string(entry.layer));
  put_ends(out, entry.link);
  put_member(out, "verdict", to_string(entry.verdict));
  files::put(out, ",\"confidence\":");
  files::put_number(out, entry.confidence);
  put_texts(out, "evidence", entry.evidence);
  put_member(out, "first_seen", weft::to_string(entry.first_seen));
  put_member(out, "last_seen", weft::to_string(entry.last_seen));
  put_member(out, "expires", weft::to_string(entry.expires));
  put_member(out, "owner", entry.owner);
  put_texts(out, "actions", entry.actions);
  files::put(out, "}}\n");
}

}  // namespace

std::string blacklist_jsonl(std::span<const blacklist::BlacklistEntry> entries) {
  files::JsonText out;
  for (const auto& entry : entries) put_entry(out, entry);
  return fmt::to_string(out);
}

}  // namespace weft::exports
