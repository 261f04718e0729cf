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

/// The fields of which this is the answer, by what `name` calls them.
template <class Name>
std::vector<std::string> fields_that(const FieldFindings& findings, MovesPath moves, Name name) {
  std::vector<std::string> fields;
  for (const FieldFinding& finding : findings.fields)
    if (finding.moves == moves) fields.emplace_back(name(finding.field));
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
  if (findings.moves(PacketField::queue_pair) == MovesPath::unknown)
    text += wrapped(
        "whether switches hash the destination queue pair is not known: paths of labels may be those of "
        "probes "
        "alone",
        0, columns);
  // A file that leaves a field out says that it is not hashed: nothing is advised of what is half known.
  if (const auto open = fields_that(findings, MovesPath::unknown, [](PacketField f) { return words_of(f); });
      !open.empty())
    return text + wrapped(fmt::format("for the fabric file's hashed: nothing yet: {} {} unknown",
                                      fmt::join(open, ", "), open.size() == 1 ? "is" : "are"),
                          0, columns);
  if (const auto fields = fields_that(findings, MovesPath::yes, [](PacketField f) { return to_string(f); });
      !fields.empty())
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
