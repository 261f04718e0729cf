#include "balancer/assign/assignment_json.hpp"

#include <cmath>

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

constexpr std::string_view kSchema = "weft.assignment/1";

class AssignmentWriter {
 public:
  AssignmentWriter(files::JsonText& out, const Fabric& fabric, const demand::Demand& demand,
                   const Assignment& assignment)
      : out_(out), fabric_(fabric), demand_(demand), assignment_(assignment) {}

  void put_assignments() {
    out_.push_back('[');
    for (std::size_t p = 0; p < assignment_.phases.size(); ++p) {
      double sent = 0;  // of this flow, by the QPs before
      const auto& qps = assignment_.phases[p].qps;
      for (std::size_t i = 0; i < qps.size(); ++i) {
        if (i == 0 || qps[i].flow != qps[i - 1].flow) sent = 0;
        put_qp(p, qps[i], sent);
        sent += qps[i].bytes;
      }
    }
    files::put(out_, "]");
  }

  void put_phases() {
    files::put_array(out_, assignment_.phases, [this](const PhaseAssignment& phase) {
      files::put(out_, "{{\"name\":");
      files::put_string(out_, phase.name);
      put_bounds(phase.bounds.integral, phase.load.busiest, phase.load.ratio, phase.bounds.fractional);
      if (phase.labels) put_label_bound(phase.labels->bound);
      files::put(out_, ",\"nic\":");
      files::put_number(out_, phase.bounds.nic);
      if (phase.load.channel)
        files::put(out_, ",\"busiest_channel\":\"{}\"", fabric_.name_of(*phase.load.channel));
      if (phase.reverse_load) {
        files::put(out_, ",\"reverse_ratio\":");
        files::put_number(out_, phase.reverse_load->ratio);
      }
      files::put(out_, ",\"leaves_over_own_bound\":{}}}", phase.load.leaves_over_own_bound);
    });
  }

  void put_bounds(double bound, double busiest, double ratio, double fractional) {
    files::put(out_, ",\"bound\":");
    files::put_number(out_, bound);
    files::put(out_, ",\"busiest\":");
    files::put_number(out_, busiest);
    files::put(out_, ",\"ratio\":");
    files::put_number(out_, ratio);
    files::put(out_, ",\"lp_bound\":");
    files::put_number(out_, fractional);
  }

  void put_label_bound(double bound) {
    files::put(out_, ",\"label_bound\":");
    files::put_number(out_, bound);
  }

  void put_unassigned(const std::vector<demand::RefusedFlow>& refused) {
    std::vector<Unassigned> all;
    for (const demand::RefusedFlow& line : refused) all.push_back({line.flow, line.why});
    for (const PhaseAssignment& phase : assignment_.phases)
      all.insert(all.end(), phase.unassigned.begin(), phase.unassigned.end());
    files::put_array(out_, all, [this](const Unassigned& item) {
      files::put(out_, "{{\"flow\":");
      files::put_string(out_, item.flow);
      files::put(out_, ",\"why\":");
      files::put_string(out_, item.why);
      files::put(out_, "}}");
    });
  }

 private:
  /// Whole bytes, so rounded that those of a flow's QPs add up to the flow.
  void put_qp(std::size_t phase, const SteeredQp& qp, double sent) {
    const demand::Flow& flow = demand_.phases[phase].flows[qp.flow];
    files::put(out_, "{}\n{{\"src\":\"{}\",\"dst\":\"{}\",\"qp\":{},\"bytes\":{}", any_ ? "," : "",
               fabric_.name_of_nic(flow.src), fabric_.name_of_nic(flow.dst), qp.qp,
               std::llround(sent + qp.bytes) - std::llround(sent));
    any_ = true;
    if (assignment_.phases.size() > 1) files::put(out_, ",\"phase\":{}", phase + 1);
    if (flow.turn > 0) files::put(out_, ",\"turn\":{}", flow.turn);
    put_way(flow, qp.label, qp.route);
    if (qp.reverse) {
      files::put(out_, ",\"reverse\":{{\"src\":\"{}\"", fabric_.name_of_nic(flow.dst));
      put_way({flow.dst, flow.src, flow.bytes}, qp.reverse->label, qp.reverse->route);
      files::put(out_, "}}");
    }
    files::put(out_, "}}");
  }

  void put_way(const demand::Flow& flow, const std::optional<PathLabel>& label, const SwitchRoute& route) {
    if (label)
      files::put(out_, ",\"label\":{}", label->value());
    else
      files::put(out_, ",\"label\":null");
    files::put(out_, ",\"path\":[\"{}\"", fabric_.name_of(*fabric_.channel_from(flow.src)));
    for (const ChannelId channel : route.channels()) files::put(out_, ",\"{}\"", fabric_.name_of(channel));
    files::put(out_, ",\"{}\"]", fabric_.name_of(*fabric_.channel_into(flow.dst)));
  }

  files::JsonText& out_;
  const Fabric& fabric_;
  const demand::Demand& demand_;
  const Assignment& assignment_;
  bool any_ = false;
};

void put_ecmp(files::JsonText& out, const EcmpSpread& ecmp) {
  files::put(out, ",\"ecmp\":{{\"draws\":{}", ecmp.draws);
  for (const auto& [name, value] : {std::pair("mean", ecmp.mean), {"low", ecmp.low}, {"high", ecmp.high}}) {
    files::put(out, ",\"{}\":", name);
    files::put_number(out, value);
  }
  files::put(out, "}}");
}

}  // namespace

std::string assignment_json(const Fabric& fabric, const demand::Demand& demand, const Assignment& assignment,
                            const std::vector<demand::RefusedFlow>& refused,
                            const files::DocumentStamp& stamp, const EcmpSpread& ecmp) {
  files::JsonText out;
  AssignmentWriter writer(out, fabric, demand, assignment);
  files::put(out, "{{");
  put_stamp(out, kSchema, stamp);
  files::put(out, ",\"fabric\":");
  files::put_string(out, fabric.name());
  writer.put_bounds(assignment.bound(), assignment.busiest(), assignment.ratio(),
                    assignment.fractional_bound());
  if (const auto bound = assignment.label_bound()) writer.put_label_bound(*bound);
  if (ecmp.draws > 0) put_ecmp(out, ecmp);
  files::put(out, ",\"reference_rate\":\"{}\"", to_string(assignment.reference));
  std::uint64_t moves = 0;
  for (const PhaseAssignment& phase : assignment.phases) moves += phase.moves;
  files::put(out, ",\"moves\":{},\"phases\":", moves);
  writer.put_phases();
  files::put(out, ",\"unassigned\":");
  writer.put_unassigned(refused);
  files::put(out, ",\"assignments\":");
  writer.put_assignments();
  files::put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::assign
