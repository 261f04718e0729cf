#include "probes/discover/cabling_json.hpp"

#include "topology/files/json_text.hpp"

namespace weft::discover {
namespace {

void put_member(files::JsonText& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  files::put(out, ",\"{}\":", name);
  files::put_string(out, text);
}

/// A CablingFault, a MatchRemark.
template <class Difference>
void put_difference(files::JsonText& out, const Difference& fault) {
  files::put(out, "\n{{\"what\":\"{}\"", to_string(fault.kind));
  put_member(out, "where", fault.where);
  put_member(out, "should", fault.should);
  put_member(out, "is", fault.is);
  if constexpr (requires { fault.nodes; })
    if (!fault.nodes.empty()) {
      files::put(out, ",\"nodes\":");
      files::put_array(out, fault.nodes, [&](const std::string& name) { files::put_string(out, name); });
    }
  files::put(out, "}}");
}

}  // namespace

std::string cabling_json(const Fabric& expected, const CablingReport& report,
                         const std::vector<std::string>& notes, const files::DocumentStamp& stamp) {
  files::JsonText out;
  files::put(out, "{{");
  put_stamp(out, "weft.cabling/1", stamp);
  files::put(out, ",\"fabric\":");
  files::put_string(out, expected.name());
  files::put(out, ",\"links\":{},\"links_right\":{},\n\"faults\":", expected.link_count(),
             report.links_right);
  files::put_array(out, report.faults, [&](const CablingFault& fault) { put_difference(out, fault); });
  files::put(out, ",\n\"remarks\":");
  files::put_array(out, report.remarks, [&](const MatchRemark& remark) { put_difference(out, remark); });
  files::put(out, ",\n\"notes\":");
  files::put_array(out, notes, [&](const std::string& note) { files::put_string(out, note); });
  files::put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::discover
