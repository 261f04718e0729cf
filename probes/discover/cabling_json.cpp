#include "probes/discover/cabling_json.hpp"

#include "topology/files/json_text.hpp"

namespace weft {
namespace {

void put_member(JsonText& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  put(out, ",\"{}\":", name);
  put_string(out, text);
}

/// A CablingFault, a MatchRemark.
template <class Difference>
void put_difference(JsonText& out, const Difference& fault) {
  put(out, "\n{{\"what\":\"{}\"", to_string(fault.kind));
  put_member(out, "where", fault.where);
  put_member(out, "should", fault.should);
  put_member(out, "is", fault.is);
  if constexpr (requires { fault.nodes; })
    if (!fault.nodes.empty()) {
      put(out, ",\"nodes\":");
      put_array(out, fault.nodes, [&](const std::string& name) { put_string(out, name); });
    }
  put(out, "}}");
}

}  // namespace

std::string cabling_json(const Fabric& expected, const CablingReport& report,
                         const std::vector<std::string>& notes, const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.cabling/1", stamp);
  put(out, ",\"fabric\":");
  put_string(out, expected.name());
  put(out, ",\"links\":{},\"links_right\":{},\n\"faults\":", expected.link_count(), report.links_right);
  put_array(out, report.faults, [&](const CablingFault& fault) { put_difference(out, fault); });
  put(out, ",\n\"remarks\":");
  put_array(out, report.remarks, [&](const MatchRemark& remark) { put_difference(out, remark); });
  put(out, ",\n\"notes\":");
  put_array(out, notes, [&](const std::string& note) { put_string(out, note); });
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
