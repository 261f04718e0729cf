#include <algorithm>
#include <utility>

#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_text.hpp"

namespace weft {
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

void put_link(JsonText& out, const LinkReport& report) {
  put(out, "\n{{\"link\":");
  put_string(out, report.link);
  if (report.from) put_member(out, "from", *report.from);
  put_member(out, "verdict", to_string(report.verdict));
  put_member(out, "cause", to_string(report.cause));
  if (report.estimate) {
    put(out, ",\"estimate\":{{\"value\":");
    put_number(out, report.estimate->value);
    put_member(out, "low", report.estimate->low);
    put_member(out, "high", report.estimate->high);
    put(out, "}}");
  }
  put_member(out, "confidence", report.confidence);
  put_strings(out, "evidence", report.evidence);
  if (report.ends) put_ends(out, *report.ends);
  put(out, "}}");
}

void put_host(JsonText& out, const HostReport& report) {
  put(out, "\n{{\"host\":");
  put_string(out, report.host);
  if (report.nic) put_member(out, "nic", *report.nic);
  put_member(out, "verdict", to_string(report.verdict));
  if (report.cause) put_member(out, "cause", to_string(*report.cause));
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

void put_coverage(JsonText& out, const CoverageReport& coverage) {
  put(out, ",\n\"coverage\":{{\"channels\":{},\"probed\":{},\"paths\":{},\"complete\":{}", coverage.channels,
      coverage.probed, coverage.paths, coverage.complete);
  put_strings(out, "missing", coverage.missing);
  put_strings(out, "unloaded", coverage.unloaded);
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

void put_counters(JsonText& out, const CounterReport& read) {
  put(out, ",\"counters\":{{\"device\":");
  put_string(out, read.device);
  put(out, ",\"port\":{}", read.port);
  put_member(out, "seconds", static_cast<double>(read.window.count()) / 1e9);
  put(out, ",\"grew\":{{");
  for (const char* comma = ""; const auto& [name, by] : read.grew) {
    put(out, "{}", std::exchange(comma, ","));
    put_string(out, name);
    put(out, ":{}", by);
  }
  put(out, "}}}}");
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
  put_array(out, document.ambiguous, [&](const std::vector<std::string>& channels) {
    put_array(out, channels, [&](const std::string& channel) { put_string(out, channel); });
  });
  put_coverage(out, document.coverage);
  put_run(out, document.run);
  if (!document.run.nics.empty()) {
    put(out, ",\n\"nics\":");
    put_array(out, document.run.nics, [&](const NicUseReport& nic) { put_nic(out, nic); });
  }
  if (document.flows) {
    put(out, ",\n\"flows\":");
    put_flows(out, *document.flows);
  }
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
