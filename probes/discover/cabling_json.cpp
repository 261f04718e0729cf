#include "probes/discover/cabling_json.hpp"

#include "topology/files/json_text.hpp"

namespace weft {
namespace {

void put_member(JsonText& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  put(out, ",\"{}\":", name);
  put_string(out, text);
}

void put_fault(JsonText& out, const CablingFault& fault) {
  put(out, "\n{{\"what\":\"{}\"", to_string(fault.kind));
  put_member(out, "where", fault.where);
  put_member(out, "should", fault.should);
  put_member(out, "is", fault.is);
  put(out, "}}");
}

}  // namespace

std::string cabling_json(const Fabric& expected, const std::vector<CablingFault>& faults,
                         const std::vector<std::string>& notes, const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.cabling/1", stamp);
  put(out, ",\"fabric\":");
  put_string(out, expected.name());
  put(out, ",\"links\":{},\n\"faults\":", expected.link_count());
  put_array(out, faults, [&](const CablingFault& fault) { put_fault(out, fault); });
  put(out, ",\n\"notes\":");
  put_array(out, notes, [&](const std::string& note) { put_string(out, note); });
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
