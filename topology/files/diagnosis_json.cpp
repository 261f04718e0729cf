#include <algorithm>
#include <utility>

#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_text.hpp"
#include "topology/findings/rarest_burst.hpp"

namespace weft::files {
namespace {

void put_key(JsonText& out, std::string_view key) { put(out, ",\"{}\":", key); }

void put_strings(JsonText& out, std::string_view key, const std::vector<std::string>& texts) {
  put_key(out, key);
  put_array(out, texts, [&](const std::string& text) { put_string(out, text); });
}

void put_member(JsonText& out, std::string_view key, std::string_view text) {
  put_key(out, key);
  put_string(out, text);
}

void put_member(JsonText& out, std::string_view key, double number) {
  put_key(out, key);
  put_number(out, number);
}

void put_estimate(JsonText& out, const Estimate& estimate) {
  put(out, ",\"estimate\":{{\"value\":");
  put_number(out, estimate.value);
  put_member(out, "low", estimate.low);
  put_member(out, "high", estimate.high);
  put(out, "}}");
}

void put_intermittence(JsonText& out, const Intermittence& intermittent) {
  put(out, ",\"intermittent\":{{\"per_second\":");
  put_number(out, intermittent.per_second);
  put_member(out, "duration_s", intermittent.duration);
  put(out, "}}");
}

void put_names(JsonText& out, const std::vector<std::vector<std::string>>& lists) {
  put_array(out, lists, [&](const std::vector<std::string>& names) {
    put_array(out, names, [&](const std::string& name) { put_string(out, name); });
  });
}

void put_repair(JsonText& out, const LinkReport& report) {
  put_key(out, "repair");
  put(out, "{{\"actions\":");
  put_array(out, report.repair, [&](const LinkReport::Repair& one) {
    put(out, "{{\"cause\":\"{}\"", to_string(one.cause));
    if (one.port) put_member(out, "port", *one.port);
    put_member(out, "probability", one.probability);
    put(out, "}}");
  });
  put_strings(out, "missing", report.repair_missing);
  put(out, "}}");
}

void put_link(JsonText& out, const LinkReport& report) {
  put(out, "\n{{\"link\":");
  put_string(out, report.link);
  if (report.from) put_member(out, "from", *report.from);
  put_member(out, "verdict", to_string(report.verdict));
  put_member(out, "cause", to_string(report.cause));
  if (report.estimate) put_estimate(out, *report.estimate);
  put_member(out, "confidence", report.confidence);
  if (report.intermittent) put_intermittence(out, *report.intermittent);
  put_strings(out, "evidence", report.evidence);
  if (!report.labels.empty()) {
    put_key(out, "labels");
    put_array(out, report.labels, [&](const LinkReport::Label& label) {
      put(out, "{{\"src\":");
      put_string(out, label.src);
      put_member(out, "dst", label.dst);
      put(out, ",\"label\":{},\"sent\":{},\"lost\":{}}}", label.label.value(), label.sent, label.lost);
    });
  }
  if (!report.repair.empty()) put_repair(out, report);
  if (report.ends) put_ends(out, *report.ends);
  put(out, "}}");
}

void put_host(JsonText& out, const HostReport& report) {
  put(out, "\n{{\"host\":");
  put_string(out, report.host);
  if (report.nic) put_member(out, "nic", *report.nic);
  put_member(out, "verdict", to_string(report.verdict));
  if (report.cause) put_member(out, "cause", to_string(*report.cause));
  if (report.from) put_member(out, "from", *report.from);
  if (report.estimate) put_estimate(out, *report.estimate);
  if (report.confidence) put_member(out, "confidence", *report.confidence);
  if (report.intermittent) put_intermittence(out, *report.intermittent);
  put_strings(out, "evidence", report.evidence);
  if (report.ends) put_member(out, "link", report.ends->name);
  if (report.ends) put_ends(out, *report.ends);
  put(out, "}}");
}

void put_group(JsonText& out, const GroupReport& report) {
  put(out, "\n{{\"cause\":\"{}\",\"verdict\":\"{}\"", to_string(report.cause), to_string(report.verdict));
  put_strings(out, "nodes", report.nodes);
  put_strings(out, "channels", report.channels);
  put_member(out, "confidence", report.confidence);
  put_strings(out, "evidence", report.evidence);
  put(out, "}}");
}

void put_set(JsonText& out, const SetReport& set) {
  put(out, "\n{{\"cause\":\"{}\",\"verdict\":\"{}\"", to_string(set.cause), to_string(set.verdict));
  put_member(out, "confidence", set.confidence);
  put_key(out, "alternatives");
  put_names(out, set.alternatives);
  if (set.more) put(out, ",\"more\":true");
  put(out, "}}");
}

void put_fabric_wide(JsonText& out, const FabricFinding& finding) {
  put(out, "\n{{\"cause\":\"{}\",\"verdict\":\"{}\"", to_string(finding.cause), to_string(finding.verdict));
  if (finding.estimate) put_estimate(out, *finding.estimate);
  put_member(out, "confidence", finding.confidence);
  put_strings(out, "evidence", finding.evidence);
  put(out, "}}");
}

void put_counters(JsonText& out, const CounterNoteReport& note) {
  put(out, "\n{{\"channel\":");
  put_string(out, note.channel);
  put_member(out, "probability", note.probability);
  put_strings(out, "texts", note.texts);
  put(out, "}}");
}

void put_account(JsonText& out, const Account& account) {
  put(out, ",\n\"account\":{{");
  const char* comma = "";
  for (const auto& [name, line] : {std::pair("lost", account.lost), std::pair("corrupt", account.corrupt),
                                   std::pair("late", account.late), std::pair("slow", account.slow)})
    put(out,
        "{}\"{}\":{{\"all\":{},\"found\":{},\"open\":{},\"excused\":{},\"tolerated\":{},\"unexplained\":{}}}",
        std::exchange(comma, ","), name, line.all, line.found, line.open, line.excused, line.tolerated,
        line.unexplained);
  put(out, "}}");
}

void put_sensitivity(JsonText& out, const Sensitivity& shown) {
  put(out, ",\n\"sensitivity\":{{");
  const char* comma = "";
  const auto member = [&](std::string_view name, double value) {
    put(out, "{}\"{}\":", std::exchange(comma, ","), name);
    put_number(out, value);
  };
  if (shown.loss) member("loss", *shown.loss);
  if (shown.loss && *shown.loss > 0) member("packets_per_burst", packets_per_burst(*shown.loss));
  if (shown.delay) member("delay_s", std::chrono::duration<double>(*shown.delay).count());
  if (shown.rate) member("rate", *shown.rate);
  if (shown.size) member("size", static_cast<double>(shown.size->count()));
  put(out, "}}");
}

void put_not_tested(JsonText& out, const NotTestedReport& report) {
  put(out, "\n{{\"host\":");
  put_string(out, report.host);
  if (report.nic) put_member(out, "nic", *report.nic);
  put_member(out, "why", report.why);
  put(out, "}}");
}

void put_coverage(JsonText& out, const CoverageReport& coverage) {
  put(out, ",\n\"coverage\":{{\"channels\":{},\"hosts\":{},\"probed\":{},\"paths\":{},\"complete\":{}",
      coverage.channels, coverage.hosts, coverage.probed, coverage.paths, coverage.complete);
  put_strings(out, "missing", coverage.missing);
  put_strings(out, "thin", coverage.thin);
  put_strings(out, "unloaded", coverage.unloaded);
  put_strings(out, "rate_untested", coverage.rate_untested);
  if (!coverage.masked.empty()) put_strings(out, "masked", coverage.masked);
  put(out, ",\"out_of_scope\":{}", coverage.out_of_scope);
  if (coverage.out_of_scope_told_by) put_member(out, "out_of_scope_told_by", *coverage.out_of_scope_told_by);
  if (!coverage.in_scope.empty()) put_strings(out, "in_scope", coverage.in_scope);
  put_key(out, "not_tested");
  put_array(out, coverage.not_tested, [&](const NotTestedReport& report) { put_not_tested(out, report); });
  if (coverage.cut_short) put_member(out, "cut_short", *coverage.cut_short);
  if (!coverage.fell_short.empty()) put_strings(out, "fell_short", coverage.fell_short);
  put(out, "}}");
}

void put_run(JsonText& out, const RunReport& run) {
  put(out, ",\n\"probes\":{{\"sent\":{},\"lost\":{}}},\n\"timings\":{{", run.sent, run.lost);
  for (std::size_t i = 0; i < run.timings.size(); ++i) {
    if (i > 0) put(out, ",");
    put_string(out, run.timings[i].first);
    put(out, ":");
    put_number(out, static_cast<double>(run.timings[i].second.count()) / 1e9);
  }
  put(out, "}}");
}

void put_counts(JsonText& out, std::string_view member, const std::map<std::string, std::uint64_t>& counts) {
  put(out, ",\"{}\":{{", member);
  for (const char* comma = ""; const auto& [name, by] : counts) {
    put(out, "{}", std::exchange(comma, ","));
    put_string(out, name);
    put(out, ":{}", by);
  }
  put(out, "}}");
}

void put_counters(JsonText& out, const CounterReport& read) {
  put(out, ",\"counters\":{{\"device\":");
  put_string(out, read.device);
  put(out, ",\"port\":{}", read.port);
  put_member(out, "seconds", static_cast<double>(read.window.count()) / 1e9);
  put_counts(out, "grew", read.grew);
  if (!read.paused.empty()) {
    put(out, ",\"load\":{{\"seconds\":");
    put_number(out, static_cast<double>(read.load_window.count()) / 1e9);
    put_counts(out, "paused", read.paused);
    put(out, "}}");
  }
  put(out, "}}");
}

void put_quantiles(JsonText& out, std::string_view name, const RttQuantiles& delay) {
  put(out, ",\"{}\":{{\"p50\":", name);
  put_number(out, std::chrono::duration<double>(delay.p50).count());
  put_member(out, "p99", std::chrono::duration<double>(delay.p99).count());
  put(out, "}}");
}

void put_delays(JsonText& out, const DelayReport& delays) {
  put(out, ",\"delays\":{{\"by_device\":{}", delays.by_device);
  if (delays.prober) put_quantiles(out, "prober", *delays.prober);
  if (delays.responder) put_quantiles(out, "responder", *delays.responder);
  if (delays.whole) put_quantiles(out, "whole", *delays.whole);
  put(out, "}}");
}

void put_nic(JsonText& out, const NicUseReport& nic) {
  put(out, "\n{{\"nic\":");
  put_string(out, nic.nic);
  if (nic.uses) put_member(out, "uses", *nic.uses);
  if (nic.counters) put_counters(out, *nic.counters);
  if (nic.delays) put_delays(out, *nic.delays);
  put(out, "}}");
}

}  // namespace

std::string diagnosis_json(const DiagnosisDocument& document) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.diagnosis/1", document.stamp);
  put_member(out, "fabric", document.fabric);
  put_member(out, "kind", to_string(document.kind));
  put_member(out, "verdict", to_string(document.verdict));
  put(out, ",\n\"links\":");
  put_array(out, document.links, [&](const LinkReport& report) { put_link(out, report); });
  put(out, ",\n\"hosts\":");
  put_array(out, document.hosts, [&](const HostReport& report) { put_host(out, report); });
  put(out, ",\n\"groups\":");
  put_array(out, document.groups, [&](const GroupReport& report) { put_group(out, report); });
  put(out, ",\n\"ambiguous\":");
  put_names(out, document.ambiguous);
  put(out, ",\n\"sets\":");
  put_array(out, document.sets, [&](const SetReport& set) { put_set(out, set); });
  put(out, ",\n\"fabric_wide\":");
  put_array(out, document.fabric_wide, [&](const FabricFinding& finding) { put_fabric_wide(out, finding); });
  if (!document.counters.empty()) {
    put(out, ",\n\"counters\":");
    put_array(out, document.counters, [&](const CounterNoteReport& note) { put_counters(out, note); });
  }
  put_account(out, document.account);
  put_sensitivity(out, document.sensitivity);
  put_coverage(out, document.coverage);
  put_run(out, document.run);
  if (const auto& engine = document.run.engine) {
    put(out, ",\n\"engine\":{{\"name\":");
    put_string(out, engine->name);
    put_member(out, "why", engine->why);
    put(out, "}}");
  }
  if (!document.run.nics.empty()) {
    put(out, ",\n\"nics\":");
    put_array(out, document.run.nics, [&](const NicUseReport& nic) { put_nic(out, nic); });
  }
  if (document.flows) {
    put(out, ",\n\"flows\":");
    put_flows(out, *document.flows);
  }
  if (document.queueing) {
    put(out, ",\n\"queueing\":");
    put_queueing(out, *document.queueing);
  }
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::files
