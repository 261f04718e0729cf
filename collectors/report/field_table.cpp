#include "collectors/report/field_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

std::vector<std::string> names_of(const Fabric& fabric, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(fabric.name_of(node));
  return names;
}

/// Fields that a file may say are hashed.
std::vector<std::string_view> hashed(const FieldFindings& findings) {
  std::vector<std::string_view> fields;
  for (const FieldFinding& finding : findings.fields)
    if (finding.moves == MovesPath::yes) fields.push_back(to_string(finding.field));
  return fields;
}

std::string conclusions(const FieldFindings& findings, std::size_t columns) {
  if (findings.sprays())
    return wrapped(
        "packets that differ in nothing go different ways: switches spray, or routes changed, and no field "
        "tells anything",
        0, columns);
  std::string text;
  if (findings.moves(PacketField::source_port) == MovesPath::no)
    text += wrapped("the source port moves nothing: labels choose no paths here", 0, columns);
  if (findings.moves(PacketField::queue_pair) == MovesPath::yes)
    text += wrapped(kProbesPathsAlone, 0, columns);
  if (const auto fields = hashed(findings); !fields.empty())
    text += wrapped(fmt::format("for the fabric file, so that sweep and balance know it: hashed: [{}]",
                                fmt::join(fields, ", ")),
                    0, columns);
  return text;
}

}  // namespace

std::string field_table(const Fabric& fabric, const FieldFindings& findings, std::size_t columns) {
  std::string text = wrapped(fmt::format("{} to {}: packets that differ in one field",
                                         fabric.name_of_nic(findings.src), fabric.name_of_nic(findings.dst)),
                             0, columns);
  TextTable table({{"field"}, {"moves the path"}, {"values", true}, {"moved", true}, {"chosen at"}});
  table.add({"none",
             findings.sprays()      ? "yes"
             : findings.repeats > 0 ? "no"
                                    : "unknown",
             fmt::format("{}", findings.repeats), fmt::format("{}", findings.repeats_moved), ""});
  for (const FieldFinding& finding : findings.fields)
    table.add({std::string(words_of(finding.field)), std::string(to_string(finding.moves)),
               fmt::format("{}", finding.values), fmt::format("{}", finding.moved),
               fmt::format("{}", fmt::join(names_of(fabric, finding.at), " "))});
  return text + table.text(columns) + conclusions(findings, columns);
}

files::RowSet field_rows(const Fabric& fabric, const FieldFindings& findings) {
  files::RowSet set{.columns = {"src", "dst", "field", "moves", "values", "moved", "at"}, .rows = {}};
  for (const FieldFinding& finding : findings.fields)
    set.rows.push_back({fabric.name_of_nic(findings.src), fabric.name_of_nic(findings.dst),
                        std::string(to_string(finding.field)), std::string(to_string(finding.moves)),
                        static_cast<std::int64_t>(finding.values), static_cast<std::int64_t>(finding.moved),
                        names_of(fabric, finding.at)});
  return set;
}

}  // namespace weft::report
