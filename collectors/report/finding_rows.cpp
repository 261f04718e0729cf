#include "collectors/report/finding_rows.hpp"

#include "collectors/report/findings.hpp"

namespace weft::report {
namespace {

using files::RowValue;

std::string kind_of(const Entry& entry) {
  if (entry.is_host && entry.trouble.place == Place::host_cable) return "host";
  switch (entry.trouble.place) {
    case Place::link:
    case Place::host_cable:
      return "link";
    case Place::host:
      return "host";
    case Place::node:
      return "switch";
    case Place::set:
      return "set";
    case Place::fabric:
      return "fabric";
    case Place::not_tested:
      return "not tested";
  }
  return "";
}

/// What the estimate of a cause is counted in.
std::string unit_of(Cause cause) {
  switch (cause) {
    case Cause::loss:
    case Cause::corruption:
      return "share of packets";
    case Cause::rate:
    case Cause::congestion:
      return "share of rate";
    case Cause::delay:
      return "seconds";
    case Cause::mtu:
      return "bytes";
    case Cause::down:
    case Cause::counter:
      break;
  }
  return "";
}

RowValue text_or_nothing(std::string text) { return text.empty() ? RowValue() : RowValue(std::move(text)); }

std::vector<RowValue> row_of(const std::string& fabric, const Entry& entry) {
  const Trouble& trouble = entry.trouble;
  const auto figure = [&](double Estimate::*part) {
    return entry.figures ? RowValue((*entry.figures).*part) : RowValue();
  };
  return {fabric,
          kind_of(entry),
          entry.subject.empty() ? entry.what : entry.subject,
          text_or_nothing(entry.from),
          std::string(to_string(entry.verdict)),
          trouble.cause ? RowValue(std::string(to_string(*trouble.cause))) : RowValue(),
          entry.probability ? RowValue(*entry.probability) : RowValue(),
          figure(&Estimate::value),
          figure(&Estimate::low),
          figure(&Estimate::high),
          trouble.cause && entry.figures ? text_or_nothing(unit_of(*trouble.cause)) : RowValue(),
          text_or_nothing(trouble.a),
          text_or_nothing(trouble.b),
          entry.lines,
          entry.evidence,
          text_or_nothing(what_to_do(trouble))};
}

}  // namespace

files::RowSet finding_rows(const files::DiagnosisDocument& document) {
  files::RowSet set{
      .columns = {"fabric", "kind", "what", "from", "verdict", "cause", "confidence", "estimate", "low",
                  "high", "unit", "port_a", "port_b", "details", "evidence", "do"},
      .rows = {}};
  for (const Entry& entry : entries_of(document, AlikeHosts::apart))
    set.rows.push_back(row_of(document.fabric, entry));
  return set;
}

}  // namespace weft::report
