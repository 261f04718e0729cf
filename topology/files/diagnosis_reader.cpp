#include <cmath>

#include "topology/files/diagnosis_document.hpp"
#include "topology/files/finding_fields.hpp"

namespace weft::files {
namespace {

const auto as_kind = as_word(&parse_fabric_kind, "roce or infiniband");

Result<Intermittence> as_intermittence(const JsonView& view) {
  Intermittence it;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "per_second", it.per_second, as_number); },
                        [&] { return need_member(view, "duration_s", it.duration, as_number); }));
  return it;
}

/// An array of what `read_item` reads.
template <class T>
auto list_of(Result<T> (*read_item)(const JsonView&)) {
  return [read_item](const JsonView& view) { return read_array<T>(view, read_item); };
}

Result<LinkReport::Label> as_label(const JsonView& view) {
  LinkReport::Label label;
  std::uint32_t number = 0;
  const auto as_number_of_label = [](const JsonView& value) { return value.count<std::uint32_t>(); };
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "src", label.src, as_text); },
                        [&] { return need_member(view, "dst", label.dst, as_text); },
                        [&] { return need_member(view, "label", number, as_number_of_label); },
                        [&] { return need_member(view, "sent", label.sent, as_count); },
                        [&] { return need_member(view, "lost", label.lost, as_count); }));
  label.label = PathLabel(number);
  return label;
}

Result<RepairCause> as_repair_cause(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  if (const auto cause = parse_repair_cause(text)) return *cause;
  return view.error(
      "expected dirty_connector, damaged_fibre, weak_transmitter, bad_module or shared_component");
}

Result<LinkReport::Repair> as_repair(const JsonView& view) {
  LinkReport::Repair one;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "cause", one.cause, as_repair_cause); },
                        [&] { return read_member(view, "port", one.port, as_text); },
                        [&] { return need_member(view, "probability", one.probability, as_share); }));
  return one;
}

Result<void> take_repair(const JsonView& view, LinkReport& link) {
  const auto repair = view.find("repair");
  if (!repair) return {};
  return in_turn([&] { return read_member(*repair, "actions", link.repair, list_of(&as_repair)); },
                 [&] { return read_member(*repair, "missing", link.repair_missing, read_texts); });
}

Result<LinkReport> as_link(const JsonView& view) {
  LinkReport link;
  const auto ends = [&](const JsonView&) { return read_ends(view, link.link); };
  const auto done = in_turn(
      [&] { return need_member(view, "link", link.link, as_text); },
      [&] { return read_member(view, "from", link.from, as_text); },
      [&] { return need_member(view, "verdict", link.verdict, as_verdict); },
      [&] { return need_member(view, "cause", link.cause, as_cause); },
      [&] { return read_member(view, "estimate", link.estimate, as_estimate); },
      [&] { return need_member(view, "confidence", link.confidence, as_share); },
      [&] { return read_member(view, "evidence", link.evidence, read_texts); },
      [&] { return read_member(view, "intermittent", link.intermittent, as_intermittence); },
      [&] { return read_member(view, "labels", link.labels, list_of(&as_label)); },
      [&] { return take_repair(view, link); }, [&] { return read_member(view, "a", link.ends, ends); });
  if (!done) return pass_on(done);
  return link;
}

Result<HostReport> as_host(const JsonView& view) {
  HostReport host;
  std::string link;
  const auto ends = [&](const JsonView&) { return read_ends(view, link); };
  const auto done =
      in_turn([&] { return need_member(view, "host", host.host, as_text); },
              [&] { return read_member(view, "nic", host.nic, as_text); },
              [&] { return need_member(view, "verdict", host.verdict, as_verdict); },
              [&] { return read_member(view, "cause", host.cause, as_cause); },
              [&] { return read_member(view, "evidence", host.evidence, read_texts); },
              [&] { return read_member(view, "from", host.from, as_text); },
              [&] { return read_member(view, "estimate", host.estimate, as_estimate); },
              [&] { return read_member(view, "confidence", host.confidence, as_share); },
              [&] { return read_member(view, "intermittent", host.intermittent, as_intermittence); },
              [&] { return read_member(view, "link", link, as_text); },
              [&] { return read_member(view, "a", host.ends, ends); });
  if (!done) return pass_on(done);
  return host;
}

Result<GroupReport> as_group(const JsonView& view) {
  GroupReport group;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "cause", group.cause, as_cause); },
                        [&] { return read_member(view, "verdict", group.verdict, as_verdict); },
                        [&] { return need_member(view, "nodes", group.nodes, read_texts); },
                        [&] { return need_member(view, "channels", group.channels, read_texts); },
                        [&] { return read_member(view, "confidence", group.confidence, as_share); },
                        [&] { return read_member(view, "evidence", group.evidence, read_texts); }));
  return group;
}

Result<NotTestedReport> as_not_tested(const JsonView& view) {
  NotTestedReport report;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "host", report.host, as_text); },
                        [&] { return read_member(view, "nic", report.nic, as_text); },
                        [&] { return need_member(view, "why", report.why, as_text); }));
  return report;
}

Result<CoverageReport> as_coverage(const JsonView& view) {
  CoverageReport coverage;
  const auto untested = list_of(&as_not_tested);
  const auto done = in_turn(
      [&] { return need_member(view, "channels", coverage.channels, as_count); },
      [&] { return read_member(view, "hosts", coverage.hosts, as_count); },
      [&] { return need_member(view, "probed", coverage.probed, as_count); },
      [&] { return need_member(view, "paths", coverage.paths, as_count); },
      [&] { return read_member(view, "missing", coverage.missing, read_texts); },
      [&] { return read_member(view, "thin", coverage.thin, read_texts); },
      [&] { return read_member(view, "unloaded", coverage.unloaded, read_texts); },
      [&] { return read_member(view, "rate_untested", coverage.rate_untested, read_texts); },
      [&] { return read_member(view, "masked", coverage.masked, read_texts); },
      [&] { return read_member(view, "out_of_scope", coverage.out_of_scope, as_count); },
      [&] { return read_member(view, "out_of_scope_told_by", coverage.out_of_scope_told_by, as_text); },
      [&] { return read_member(view, "in_scope", coverage.in_scope, read_texts); },
      [&] { return read_member(view, "not_tested", coverage.not_tested, untested); },
      [&] { return read_member(view, "cut_short", coverage.cut_short, as_text); },
      [&] { return read_member(view, "fell_short", coverage.fell_short, read_texts); },
      [&] { return read_member(view, "complete", coverage.complete, as_boolean); });
  if (!done) return pass_on(done);
  return coverage;
}

Result<void> read_probes(const JsonView& view, RunReport& run) {
  const auto probes = view.find("probes");
  if (!probes) return {};
  return in_turn([&] { return need_member(*probes, "sent", run.sent, as_count); },
                 [&] { return need_member(*probes, "lost", run.lost, as_count); });
}

/// Stages by name, for an object of JSON has no order. They tell since when packets were sent.
Result<void> read_timings(const nlohmann::json& root, const JsonView& view, RunReport& run) {
  constexpr double kMaxSeconds = 1e9;
  const auto timings = root.find("timings");
  if (timings == root.end() || timings->is_null()) return {};
  const auto stages = *view.find("timings");
  if (!timings->is_object()) return stages.error("expected seconds by stage");
  for (const auto& [stage, time] : timings->items()) {
    double seconds = 0;
    WEFT_TRY_VOID(need_member(stages, stage, seconds, as_number));
    if (!(seconds >= 0 && seconds < kMaxSeconds))
      return stages.error("{}: expected seconds from 0 to {}", stage, kMaxSeconds);
    run.timings.emplace_back(stage, Nanoseconds(std::llround(seconds * 1e9)));
  }
  return {};
}

Result<SetReport> as_set(const JsonView& view) {
  SetReport set;
  const auto done =
      in_turn([&] { return need_member(view, "cause", set.cause, as_cause); },
              [&] { return need_member(view, "verdict", set.verdict, as_verdict); },
              [&] { return need_member(view, "confidence", set.confidence, as_share); },
              [&] { return need_member(view, "alternatives", set.alternatives, list_of(&read_texts)); },
              [&] { return read_member(view, "more", set.more, as_boolean); });
  if (!done) return pass_on(done);
  return set;
}

Result<FabricFinding> as_fabric_wide(const JsonView& view) {
  FabricFinding finding;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "cause", finding.cause, as_cause); },
                        [&] { return need_member(view, "verdict", finding.verdict, as_verdict); },
                        [&] { return read_member(view, "estimate", finding.estimate, as_estimate); },
                        [&] { return need_member(view, "confidence", finding.confidence, as_share); },
                        [&] { return read_member(view, "evidence", finding.evidence, read_texts); }));
  return finding;
}

Result<CounterNoteReport> as_counters(const JsonView& view) {
  CounterNoteReport note;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "channel", note.channel, as_text); },
                        [&] { return need_member(view, "probability", note.probability, as_share); },
                        [&] { return read_member(view, "texts", note.texts, read_texts); }));
  return note;
}

Result<AccountLine> as_account_line(const JsonView& view) {
  AccountLine line;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "all", line.all, as_count); },
                        [&] { return need_member(view, "found", line.found, as_count); },
                        [&] { return need_member(view, "open", line.open, as_count); },
                        [&] { return need_member(view, "excused", line.excused, as_count); },
                        [&] { return need_member(view, "tolerated", line.tolerated, as_count); },
                        [&] { return need_member(view, "unexplained", line.unexplained, as_count); }));
  return line;
}

Result<Account> as_account(const JsonView& view) {
  Account account;
  WEFT_TRY_VOID(in_turn([&] { return read_member(view, "lost", account.lost, as_account_line); },
                        [&] { return read_member(view, "corrupt", account.corrupt, as_account_line); },
                        [&] { return read_member(view, "late", account.late, as_account_line); },
                        [&] { return read_member(view, "slow", account.slow, as_account_line); }));
  return account;
}

Result<Sensitivity> as_sensitivity(const JsonView& view) {
  Sensitivity shown;
  std::optional<double> delay, size;
  WEFT_TRY_VOID(in_turn([&] { return read_member(view, "loss", shown.loss, as_share); },
                        [&] { return read_member(view, "size", size, as_number); },
                        [&] { return read_member(view, "delay_s", delay, as_number); },
                        [&] { return read_member(view, "rate", shown.rate, as_share); }));
  constexpr double kMaxDelay = 1e6;        // seconds
  constexpr double kMaxPacketBytes = 1e6;  // bytes
  if (size && *size >= 0 && *size < kMaxPacketBytes) shown.size = Bytes(std::llround(*size));
  if (delay && *delay >= 0 && *delay < kMaxDelay) shown.delay = Nanoseconds(std::llround(*delay * 1e9));
  return shown;
}

}  // namespace

Result<DiagnosisDocument> parse_diagnosis(std::string_view text, std::string_view what) {
  WEFT_TRY(const auto json, parse_json(text, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, "weft.diagnosis/1"));
  DiagnosisDocument document;
  const auto done = in_turn(
      [&] { return need_member(root, "generated_at", document.stamp.generated_at, as_time); },
      [&] { return need_member(root, "tool_version", document.stamp.tool_version, as_text); },
      [&] { return need_member(root, "fabric", document.fabric, as_text); },
      [&] { return read_member(root, "kind", document.kind, as_kind); },
      [&] { return need_member(root, "verdict", document.verdict, as_verdict); },
      [&] { return need_member(root, "links", document.links, list_of(&as_link)); },
      [&] { return need_member(root, "hosts", document.hosts, list_of(&as_host)); },
      [&] { return read_member(root, "groups", document.groups, list_of(&as_group)); },
      [&] { return read_member(root, "ambiguous", document.ambiguous, list_of(&read_texts)); },
      [&] { return read_member(root, "sets", document.sets, list_of(&as_set)); },
      [&] { return read_member(root, "fabric_wide", document.fabric_wide, list_of(&as_fabric_wide)); },
      [&] { return read_member(root, "counters", document.counters, list_of(&as_counters)); },
      [&] { return read_member(root, "account", document.account, as_account); },
      [&] { return read_member(root, "sensitivity", document.sensitivity, as_sensitivity); },
      [&] { return need_member(root, "coverage", document.coverage, as_coverage); },
      [&] { return read_probes(root, document.run); },
      [&] { return read_timings(json, root, document.run); });
  if (!done) return pass_on(done);
  return document;
}

}  // namespace weft::files
