#include "balancer/assign/assignment_json.hpp"

#include <cmath>

#include "topology/files/json_text.hpp"

namespace weft {
namespace {

constexpr std::string_view kSchema = "weft.assignment/1";

class AssignmentWriter {
 public:
  AssignmentWriter(JsonText& out, const Fabric& fabric, const Demand& demand, const Assignment& assignment)
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
    put(out_, "]");
  }

  void put_phases() {
    put_array(out_, assignment_.phases, [this](const PhaseAssignment& phase) {
      put(out_, "{{\"name\":");
      put_string(out_, phase.name);
      put_bounds(phase.bounds.integral, phase.load.busiest, phase.load.ratio, phase.bounds.fractional);
      if (phase.labels) put_label_bound(phase.labels->bound);
      put(out_, ",\"nic\":");
      put_number(out_, phase.bounds.nic);
      if (phase.load.channel) put(out_, ",\"busiest_channel\":\"{}\"", fabric_.name_of(*phase.load.channel));
      if (phase.reverse_load) {
        put(out_, ",\"reverse_ratio\":");
        put_number(out_, phase.reverse_load->ratio);
      }
      put(out_, ",\"leaves_over_own_bound\":{}}}", phase.load.leaves_over_own_bound);
    });
  }

  void put_bounds(double bound, double busiest, double ratio, double fractional) {
    put(out_, ",\"bound\":");
    put_number(out_, bound);
    put(out_, ",\"busiest\":");
    put_number(out_, busiest);
    put(out_, ",\"ratio\":");
    put_number(out_, ratio);
    put(out_, ",\"lp_bound\":");
    put_number(out_, fractional);
  }

  void put_label_bound(double bound) {
    put(out_, ",\"label_bound\":");
    put_number(out_, bound);
  }

  void put_unassigned(const std::vector<RefusedFlow>& refused) {
    std::vector<Unassigned> all;
    for (const RefusedFlow& line : refused) all.push_back({line.flow, line.why});
    for (const PhaseAssignment& phase : assignment_.phases)
      all.insert(all.end(), phase.unassigned.begin(), phase.unassigned.end());
    put_array(out_, all, [this](const Unassigned& item) {
      put(out_, "{{\"flow\":");
      put_string(out_, item.flow);
      put(out_, ",\"why\":");
      put_string(out_, item.why);
      put(out_, "}}");
    });
  }

 private:
  /// Whole bytes, so rounded that those of a flow's QPs add up to the flow.
  void put_qp(std::size_t phase, const SteeredQp& qp, double sent) {
    const Flow& flow = demand_.phases[phase].flows[qp.flow];
    put(out_, "{}\n{{\"src\":\"{}\",\"dst\":\"{}\",\"qp\":{},\"bytes\":{}", any_ ? "," : "",
        fabric_.name_of_nic(flow.src), fabric_.name_of_nic(flow.dst), qp.qp,
        std::llround(sent + qp.bytes) - std::llround(sent));
    any_ = true;
    if (assignment_.phases.size() > 1) put(out_, ",\"phase\":{}", phase + 1);
    if (flow.turn > 0) put(out_, ",\"turn\":{}", flow.turn);
    put_way(flow, qp.label, qp.route);
    if (qp.reverse) {
      put(out_, ",\"reverse\":{{\"src\":\"{}\"", fabric_.name_of_nic(flow.dst));
      put_way({flow.dst, flow.src, flow.bytes}, qp.reverse->label, qp.reverse->route);
      put(out_, "}}");
    }
    put(out_, "}}");
  }

  void put_way(const Flow& flow, const std::optional<PathLabel>& label, const SwitchRoute& route) {
    if (label)
      put(out_, ",\"label\":{}", label->value());
    else
      put(out_, ",\"label\":null");
    put(out_, ",\"path\":[\"{}\"", fabric_.name_of(*fabric_.channel_from(flow.src)));
    for (const ChannelId channel : route.channels()) put(out_, ",\"{}\"", fabric_.name_of(channel));
    put(out_, ",\"{}\"]", fabric_.name_of(*fabric_.channel_into(flow.dst)));
  }

  JsonText& out_;
  const Fabric& fabric_;
  const Demand& demand_;
  const Assignment& assignment_;
  bool any_ = false;
};

}  // namespace

std::string assignment_json(const Fabric& fabric, const Demand& demand, const Assignment& assignment,
                            const std::vector<RefusedFlow>& refused, const DocumentStamp& stamp) {
  JsonText out;
  AssignmentWriter writer(out, fabric, demand, assignment);
  put(out, "{{");
  put_stamp(out, kSchema, stamp);
  put(out, ",\"fabric\":");
  put_string(out, fabric.name());
  writer.put_bounds(assignment.bound(), assignment.busiest(), assignment.ratio(),
                    assignment.fractional_bound());
  if (const auto bound = assignment.label_bound()) writer.put_label_bound(*bound);
  put(out, ",\"reference_rate\":\"{}\"", to_string(assignment.reference));
  std::uint64_t moves = 0;
  for (const PhaseAssignment& phase : assignment.phases) moves += phase.moves;
  put(out, ",\"moves\":{},\"phases\":", moves);
  writer.put_phases();
  put(out, ",\"unassigned\":");
  writer.put_unassigned(refused);
  put(out, ",\"assignments\":");
  writer.put_assignments();
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
