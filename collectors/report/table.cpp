#include "collectors/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "collectors/report/findings.hpp"
#include "collectors/report/load_table.hpp"
#include "collectors/report/words.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/findings/rarest_burst.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kNarrow = 64;  // below it there is no room for columns
constexpr std::size_t kListed = 20;  // findings, unless all are asked for

/// How wide the columns of a table of findings are.
struct Widths {
  std::size_t what = 4;
  std::size_t verdict = 7;
  std::size_t cause = 5;
  std::size_t confidence = 4;
  std::size_t estimate = 8;
};

std::string verdict_word(const Entry& entry) {
  return entry.trouble.place == Place::not_tested ? "untested" : std::string(to_string(entry.verdict));
}

std::string cause_word(const Entry& entry) {
  return entry.trouble.cause ? std::string(to_string(*entry.trouble.cause)) : "";
}

Widths widths_of(std::span<const Entry> entries, const TableStyle& style) {
  Widths widths;
  const auto widen = [](std::size_t& width, std::size_t to) { width = std::max(width, to); };
  for (const Entry& entry : entries) {
    widen(widths.what, entry.what.size() + (style.sign ? sign_of(entry.verdict).size() : 0));
    widen(widths.verdict, verdict_word(entry).size());
    widen(widths.cause, cause_word(entry).size());
    widen(widths.confidence, entry.confidence.size());
    widen(widths.estimate, entry.estimate.size());
  }
  constexpr std::size_t kBefore = 2 * 4;  // two spaces before each of the others
  const std::size_t others = widths.verdict + widths.cause + widths.confidence + widths.estimate + kBefore;
  widths.what = std::min(widths.what, style.columns > others + 7 ? style.columns - others : 7);
  return widths;
}

/// The row of a finding: what it is about first. A name too long for its column has a line of its own.
std::string row(const Entry& entry, const Widths& widths, const TableStyle& style) {
  const std::string sign = style.sign ? std::string(sign_of(entry.verdict)) : "";
  if (style.columns < kNarrow) {
    std::vector<std::string> parts;
    for (const auto& part : {verdict_word(entry), cause_word(entry), entry.estimate,
                             entry.confidence.empty() ? "" : "confidence " + entry.confidence})
      if (!part.empty()) parts.push_back(part);
    return wrapped(fmt::format("{}{}: {}", sign, entry.what, joined(parts, ", ")), 0, style.columns);
  }
  std::string cells =
      fmt::format("{:<{}}  {:<{}}  {:<{}}  {}", verdict_word(entry), widths.verdict, cause_word(entry),
                  widths.cause, entry.confidence, widths.confidence, entry.estimate);
  cells.erase(cells.find_last_not_of(' ') + 1);
  cells = coloured(std::move(cells), entry.verdict, style);
  const std::string name = sign + entry.what;
  if (name.size() <= widths.what) return fmt::format("{:<{}}  {}\n", name, widths.what, cells);
  return wrapped(name, 0, style.columns) + std::string(widths.what + 2, ' ') + cells + "\n";
}

std::string below_row(const Entry& entry, std::size_t columns) {
  std::string text;
  if (!entry.ports.empty()) text += wrapped("ports: " + entry.ports, kIndent, columns);
  for (const std::string& line : entry.lines) text += wrapped(with_units_kept(line), kIndent, columns);
  const std::size_t deeper = entry.trouble.place == Place::set ? 2 * kIndent : kIndent;
  for (const std::string& line : entry.evidence) text += wrapped(with_units_kept(line), deeper, columns);
  if (const auto todo = what_to_do(entry.trouble); !todo.empty())
    text += wrapped("do: " + todo, kIndent, columns);
  return text;
}

/// How many of each kind: what stands before a list that is too long to be read.
std::string summary(const std::vector<Entry>& entries, std::size_t columns) {
  std::vector<std::pair<std::string, std::size_t>> kinds;  // in the order of the entries
  for (const Entry& entry : entries) {
    const std::string cause = cause_word(entry);
    const std::string kind = verdict_word(entry) + (cause.empty() ? "" : ", " + cause);
    auto known = std::ranges::find(kinds, kind, &std::pair<std::string, std::size_t>::first);
    if (known == kinds.end()) known = kinds.insert(kinds.end(), {kind, 0});
    ++known->second;
  }
  std::string text = fmt::format("\n{} findings, what hurts most first:\n", entries.size());
  for (const auto& [kind, count] : kinds)
    text += wrapped(fmt::format("{} {}", count, kind), kIndent, columns);
  return text;
}

std::string findings_part(const std::vector<Entry>& entries, const TableStyle& style) {
  if (entries.empty()) return "";
  const bool cut = entries.size() > kListed && !style.all;
  const std::span<const Entry> shown(entries.data(), cut ? kListed : entries.size());
  const Widths widths = widths_of(shown, style);
  std::string text = entries.size() > kListed ? summary(entries, style.columns) : "";
  if (style.columns >= kNarrow)
    text +=
        fmt::format("\n{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", style.sign ? "   WHAT" : "WHAT", widths.what,
                    "VERDICT", widths.verdict, "CAUSE", widths.cause, "CONF", widths.confidence, "ESTIMATE");
  else
    text += "\n";
  for (const Entry& entry : shown) text += row(entry, widths, style) + below_row(entry, style.columns);
  if (cut) text += fmt::format("\n{} more: --all lists them\n", entries.size() - kListed);
  return text;
}

std::string ambiguous_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  for (const auto& channels : files::untold_classes(document))
    part += wrapped("cannot be told apart by these probes: " + joined(channels, ", "), 0, columns);
  return part.empty() ? "" : "\n" + part;
}

/// "WHAT: a, b and 3 more", or nothing.
std::string first_of(std::string_view what, const std::vector<std::string>& channels, std::size_t columns) {
  constexpr std::size_t kMaxNamed = 8;
  if (channels.empty()) return "";
  const auto shown = std::min(kMaxNamed, channels.size());
  const std::vector<std::string> named(channels.begin(),
                                       channels.begin() + static_cast<std::ptrdiff_t>(shown));
  const auto more = channels.size() - shown;
  return wrapped(
      fmt::format("{}: {}{}", what, joined(named, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
      0, columns);
}

std::string coverage_part(const files::DiagnosisDocument& document, std::size_t columns) {
  const files::CoverageReport& covered = document.coverage;
  const auto told_by = covered.out_of_scope_told_by
                           ? fmt::format(": of those only {} tell", *covered.out_of_scope_told_by)
                           : "";
  const auto beyond =
      covered.out_of_scope > 0
          ? fmt::format(" ({} more are on no path between these hosts{})", covered.out_of_scope, told_by)
          : "";
  std::string short_of;
  for (const std::string& each : covered.fell_short) short_of += wrapped("fell short: " + each, 0, columns);
  return "\n" + (covered.cut_short ? wrapped("cut short: " + *covered.cut_short, 0, columns) : "") +
         short_of +
         wrapped(fmt::format("coverage: {} of {} channels{} over {} paths; probes: {} sent, {} lost",
                             covered.probed, covered.channels, beyond, covered.paths, document.run.sent,
                             document.run.lost),
                 0, columns) +
         first_of("not crossed", covered.missing, columns) +
         first_of("crossed by too few probes", covered.thin, columns) +
         first_of("rate not tested (no flow by a known path, or none that counts)", covered.unloaded,
                  columns) +
         first_of("rate not tested (behind slower channels)", covered.rate_untested, columns) +
         (document.run.engine
              ? wrapped(fmt::format("engine: {}: {}", document.run.engine->name, document.run.engine->why), 0,
                        columns)
              : "");
}

/// Losses and delays that nothing found explains.
std::string account_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string part;
  const auto line = [&](const AccountLine& account, std::string_view what) {
    if (account.unexplained > 0)
      part += wrapped(fmt::format("unexplained: {} of {} {}", account.unexplained, account.all, what), 0,
                      columns);
    if (account.excused > 0)
      part += wrapped(fmt::format("dropped or held back by hosts, as they counted: {} of {} {}",
                                  account.excused, account.all, what),
                      0, columns);
  };
  line(document.account.lost, "lost packets");
  line(document.account.corrupt, "corrupt packets");
  line(document.account.late, "late round trips");
  line(document.account.slow, "flows held back");
  for (const auto& [channel, probability, texts] : document.counters)
    part += wrapped(fmt::format("counters of {}: {}", channel, joined(texts, "; ")), 0, columns);
  return part;
}

constexpr Bytes kFullPacket(4096);  // the largest RoCE and InfiniBand MTU

/// Cables, or hosts, that have a finding: both directions of one, or two causes, are one.
template <class Report, class Member>
std::size_t distinct(const std::vector<Report>& reports, Member member) {
  std::set<std::string> names;
  for (const Report& report : reports) names.insert(std::invoke(member, report));
  return names.size();
}
std::size_t links_found(const files::DiagnosisDocument& document) {
  return distinct(document.links, &files::LinkReport::link);
}
std::size_t hosts_found(const files::DiagnosisDocument& document) {
  return distinct(document.hosts, &files::HostReport::host);
}

std::size_t not_healthy(const files::DiagnosisDocument& document) {
  return document.links.size() + document.hosts.size() + document.groups.size() + document.sets.size() +
         document.fabric_wide.size();
}

/// How much is at fault, of how much that was looked at.
std::string extent(const files::DiagnosisDocument& document, const std::vector<Entry>& entries) {
  const auto& covered = document.coverage;
  const std::string links = counted((covered.channels + 1) / 2, "link");
  if (not_healthy(document) == 0)
    return "nothing found on " +
           (covered.out_of_scope == 0
                ? links
                : fmt::format("{} of {}", (covered.channels + 1) / 2,
                              counted((covered.channels + covered.out_of_scope + 1) / 2, "link"))) +
           (covered.hosts > 0 ? ", " + counted(covered.hosts, "host") : "");
  std::vector<std::string> parts;
  if (!document.links.empty()) parts.push_back(fmt::format("{} of {}", links_found(document), links));
  if (!document.hosts.empty()) parts.push_back(counted(hosts_found(document), "host"));
  const auto add = [&](Place place, std::string_view what) {
    const auto count =
        std::ranges::count(entries, place, [](const Entry& entry) { return entry.trouble.place; });
    if (count > 0) parts.push_back(counted(static_cast<std::size_t>(count), what));
  };
  add(Place::node, "switch-wide fault");
  add(Place::set, "open set");
  if (!document.fabric_wide.empty()) parts.emplace_back("the whole fabric");
  return joined(parts, ", ") + (document.links.empty() ? " in a fabric of " + links : "");
}

/// What a healthy verdict does not speak of.
std::string untested(const files::DiagnosisDocument& document) {
  const Sensitivity& shown = document.sensitivity;
  std::vector<std::string> parts;
  const files::CoverageReport& covered = document.coverage;
  std::set<std::string> of_unknown_rate(covered.unloaded.begin(), covered.unloaded.end());
  of_unknown_rate.insert(covered.rate_untested.begin(), covered.rate_untested.end());
  if (!shown.delay) parts.emplace_back("delays");
  if (!shown.rate)
    parts.emplace_back("rates");
  else if (!of_unknown_rate.empty())
    parts.push_back("rates of " + counted(of_unknown_rate.size(), "channel"));
  if (shown.size && *shown.size < kFullPacket)
    parts.push_back(fmt::format("packets above {}", readable(*shown.size, kNoBreak)));
  if (const auto count = covered.missing.size() + covered.thin.size(); count > 0)
    parts.push_back(counted(count, "channel"));
  if (const auto count = covered.not_tested.size(); count > 0) parts.push_back(counted(count, "host"));
  return parts.empty() ? "" : "; not tested: " + joined(parts, ", ");
}

std::string smallest_fault(const files::DiagnosisDocument& document) {
  const Sensitivity& shown = document.sensitivity;
  std::vector<std::string> parts;
  if (const double loss = shown.loss.value_or(0); loss > 0)
    parts.push_back(
        fmt::format("loss of {:.3g}% packet by packet (or a burst of ten or more each {:.0f} packets)",
                    loss * 100, packets_per_burst(loss)));
  if (shown.delay) parts.push_back("delay of " + duration(*shown.delay));
  if (shown.rate)
    parts.push_back(fmt::format("rate {:.3g}% too low{}", *shown.rate * 100,
                                document.coverage.unloaded.empty() ? "" : " on those loaded"));
  return parts.empty() ? "" : "; one fault would have shown on any link crossed: " + joined(parts, ", ");
}

std::string headline(const files::DiagnosisDocument& document, const std::vector<Entry>& entries,
                     const TableStyle& style) {
  const std::string text =
      fmt::format("{}fabric {}: {}; {}{}{}{}", style.sign ? sign_of(document.verdict) : "", document.fabric,
                  to_string(document.verdict), extent(document, entries),
                  document.coverage.cut_short            ? "; cut short"
                  : document.coverage.fell_short.empty() ? ""
                                                         : "; fell short of what was asked",
                  untested(document), smallest_fault(document));
  std::string lines = wrapped(text, 0, style.columns);
  const std::size_t first = lines.find(';');
  if (first == std::string::npos) return lines;
  return coloured(lines.substr(0, first), document.verdict, style) + lines.substr(first);
}

std::string timings_part(const files::DiagnosisDocument& document, std::size_t columns) {
  if (document.run.timings.empty()) return "";
  std::string part = "time:";
  Nanoseconds total{};
  for (const auto& [stage, time] : document.run.timings) {
    part += fmt::format(" {} {:.1f}{}s,", stage, std::chrono::duration<double>(time).count(), kNoBreak);
    total += time;
  }
  part += fmt::format(" {:.1f}{}s in all", std::chrono::duration<double>(total).count(), kNoBreak);
  return wrapped(part, 0, columns);
}

}  // namespace

std::string_view sign_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "ok ";
    case Verdict::unknown:
      return "?? ";
    case Verdict::congested:
      return "~~ ";
    case Verdict::degraded:
      return "!  ";
    case Verdict::failed:
      return "!! ";
  }
  return "";
}

std::string coloured(std::string text, Verdict verdict, const TableStyle& style) {
  if (!style.colour) return text;
  const char* code = verdict == Verdict::healthy  ? "\x1b[32m"
                     : verdict == Verdict::failed ? "\x1b[31m"
                                                  : "\x1b[33m";
  const std::string_view word = to_string(verdict);
  const std::size_t at = text.rfind(word);
  return at == std::string::npos
             ? text
             : text.substr(0, at) + code + std::string(word) + "\x1b[0m" + text.substr(at + word.size());
}

std::string_view monitoring_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "OK";
    case Verdict::unknown:
      return "UNKNOWN";
    case Verdict::congested:
    case Verdict::degraded:
      return "WARNING";
    case Verdict::failed:
      return "CRITICAL";
  }
  return "";
}

std::string diagnosis_table(const files::DiagnosisDocument& document, const TableStyle& style) {
  const std::size_t columns = style.columns;
  const std::vector<Entry> entries = entries_of(document);
  return headline(document, entries, style) + findings_part(entries, style) +
         ambiguous_part(document, columns) + load_part(document, columns) + coverage_part(document, columns) +
         account_part(document, columns) + timings_part(document, columns);
}

std::string monitoring_line(const files::DiagnosisDocument& document) {
  const auto& cut_short = document.coverage.cut_short;
  const auto& fell_short = document.coverage.fell_short;
  std::string said =
      fmt::format("fabric {}: {}; {}{}{}{}{}", document.fabric, to_string(document.verdict),
                  extent(document, entries_of(document)), cut_short ? "; cut short: " + *cut_short : "",
                  fell_short.empty() ? "" : "; fell short: " + joined(fell_short, "; "), untested(document),
                  smallest_fault(document));
  std::ranges::replace(said, '|', '/');
  std::ranges::replace(said, kNoBreak, ' ');
  const std::size_t channels = document.coverage.missing.size() + document.coverage.thin.size();
  return fmt::format(
      "WEFT {} - {} | links={} hosts={} sets={} not_tested={} channels_not_tested={} "
      "sent={}c lost={}c\n",
      monitoring_word(document.verdict), said, links_found(document), hosts_found(document),
      document.sets.size(), document.coverage.not_tested.size(), channels, document.run.sent,
      document.run.lost);
}

}  // namespace weft::report
