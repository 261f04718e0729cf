#include "topology/files/flows_report.hpp"

#include <map>

#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

double share_of(Bandwidth delivered, Bandwidth wanted) {
  return wanted > Bandwidth() ? delivered / wanted : 1.0;
}

FlowReport report_of(const Fabric& fabric, const PathTable& paths, const FlowResult& flow) {
  FlowReport report{.round = flow.round,
                    .src = fabric.name_of_nic(flow.src),
                    .dst = fabric.name_of_nic(flow.dst),
                    .wanted = flow.wanted,
                    .delivered = flow.delivered,
                    .sender_stalled = flow.sender_stalled,
                    .qps = flow.qps};
  if (const auto ways = paths.paths(flow.path); ways.size() == 1)
    for (const ChannelId channel : paths.channels(ways[0])) report.path.push_back(fabric.name_of(channel));
  return report;
}

std::vector<ReceiverReport> receivers_of(const std::vector<FlowReport>& flows, LoadPattern pattern) {
  std::map<std::string, ReceiverReport> receivers;
  for (const FlowReport& flow : flows) {
    ReceiverReport& to = receivers[flow.dst];
    to.nic = flow.dst;
    to.wanted = to.wanted + flow.wanted;
    to.delivered = to.delivered + flow.delivered;
    const double share = share_of(flow.delivered, flow.wanted);
    if (to.senders++ == 0 || share < to.slowest_share) to.slowest = flow.src, to.slowest_share = share;
  }
  std::vector<ReceiverReport> all;
  for (auto& [nic, to] : receivers) {
    const double divide_by = pattern == LoadPattern::all_pairs ? static_cast<double>(to.senders) : 1.0;
    to.wanted = to.wanted * (1 / divide_by);
    to.delivered = to.delivered * (1 / divide_by);
    all.push_back(to);
  }
  return all;
}

void put_latency(JsonText& out, const LatencyHistogram& latency) {
  const auto us = [](Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; };
  put(out, "{{\"count\":{}", latency.count());
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}})
    if (const auto time = latency.quantile(share)) {
      put(out, ",\"{}\":", name);
      put_number(out, us(*time));
    }
  put(out, ",\"buckets\":");
  put_array(out, latency.buckets(), [&](const LatencyHistogram::Bucket& bucket) {
    put(out, "[");
    put_number(out, us(LatencyHistogram::longest_of(bucket.index)));
    put(out, ",{}]", bucket.count);
  });
  put(out, "}}");
}

void put_rate(JsonText& out, std::string_view name, Bandwidth rate) {
  put(out, ",\"{}\":", name);
  put_number(out, rate.bits_per_second());
}

void put_qp(JsonText& out, const QpResult& qp) {
  put(out, "{{\"label\":{}", qp.label.value());
  put_rate(out, "delivered", qp.delivered);
  put(out, ",\"latency_us\":");
  put_latency(out, qp.latency);
  if (qp.error) {
    put(out, ",\"error\":");
    put_string(out, *qp.error);
  }
  put(out, "}}");
}

void put_flow(JsonText& out, const FlowReport& flow) {
  put(out, "\n{{\"round\":{},\"src\":", flow.round);
  put_string(out, flow.src);
  put(out, ",\"dst\":");
  put_string(out, flow.dst);
  put(out, ",\"path\":");
  put_array(out, flow.path, [&](const std::string& channel) { put_string(out, channel); });
  put_rate(out, "wanted", flow.wanted);
  put_rate(out, "delivered", flow.delivered);
  put(out, ",\"sender_stalled\":{},\"qps\":", flow.sender_stalled);
  put_array(out, flow.qps, [&](const QpResult& qp) { put_qp(out, qp); });
  put(out, "}}");
}

void put_receiver(JsonText& out, const ReceiverReport& receiver) {
  put(out, "\n{{\"nic\":");
  put_string(out, receiver.nic);
  put(out, ",\"senders\":{}", receiver.senders);
  put_rate(out, "wanted", receiver.wanted);
  put_rate(out, "delivered", receiver.delivered);
  put(out, ",\"slowest\":");
  put_string(out, receiver.slowest);
  put(out, ",\"slowest_share\":");
  put_number(out, receiver.slowest_share);
  put(out, "}}");
}

}  // namespace

FlowsReport flows_report(const Fabric& fabric, const PathTable& paths, const FlowResults& results) {
  FlowsReport report{.pattern = results.pattern, .operation = results.operation};
  for (const FlowResult& flow : results.flows) {
    report.flows.push_back(report_of(fabric, paths, flow));
    for (const QpResult& qp : flow.qps) report.latency.merge(qp.latency);
  }
  // Of the flows of `links` each has a right of its own, and its path a verdict: they say nothing of NICs.
  if (results.pattern == LoadPattern::links) return report;
  report.receivers = receivers_of(report.flows, results.pattern);
  for (const SlowNic& slow : slow_nics(results.flows))
    report.slow.push_back({fabric.name_of_nic(slow.nic), slow.receives, slow.slow, slow.flows});
  return report;
}

void put_flows(JsonText& out, const FlowsReport& report) {
  put(out, "{{\"pattern\":\"{}\",\"operation\":\"{}\",\"latency_us\":", to_string(report.pattern),
      to_string(report.operation));
  put_latency(out, report.latency);
  put(out, ",\"flows\":");
  put_array(out, report.flows, [&](const FlowReport& flow) { put_flow(out, flow); });
  put(out, ",\"receivers\":");
  put_array(out, report.receivers, [&](const ReceiverReport& receiver) { put_receiver(out, receiver); });
  put(out, ",\"slow\":");
  put_array(out, report.slow, [&](const SlowNicReport& slow) {
    put(out, "{{\"nic\":");
    put_string(out, slow.nic);
    put(out, ",\"receives\":{},\"slow\":{},\"flows\":{}}}", slow.receives, slow.slow, slow.flows);
  });
  put(out, "}}");
}

}  // namespace weft::files
