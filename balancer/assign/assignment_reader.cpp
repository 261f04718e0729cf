#include "balancer/assign/assignment_reader.hpp"

#include "balancer/assign/known_paths.hpp"
#include "balancer/demand/flow_file.hpp"
#include "topology/files/json_fields.hpp"

namespace weft {
namespace {

struct PhasedQp {
  KeptQp qp;
  std::size_t phase = 1;
};

class AssignmentReader {
 public:
  explicit AssignmentReader(const Fabric& fabric) : fabric_(fabric) {}

  Result<PhasedQp> read(const JsonView& view) const {
    PhasedQp read;
    std::uint64_t number = 0;
    std::uint64_t phase = 1;
    const auto as_nic = [this](const JsonView& nic) { return read_nic(nic); };
    const auto done = in_turn([&] { return need_member(view, "src", read.qp.src, as_nic); },
                              [&] { return need_member(view, "dst", read.qp.dst, as_nic); },
                              [&] { return need_member(view, "qp", number, as_count); },
                              [&] { return read_member(view, "phase", phase, as_count); });
    if (!done) return pass_on(done);
    if (number >= kMaxQps) return view.error("QP {}: expected 0 to {}", number, kMaxQps - 1);
    if (phase < 1 || phase > kMaxPhases) return view.error("phase {}: expected 1 to {}", phase, kMaxPhases);
    read.qp.qp = static_cast<std::uint32_t>(number);
    read.phase = static_cast<std::size_t>(phase);
    const auto way = read_way(view, read.qp.src, read.qp.dst);
    if (!way) return pass_on(way);
    read.qp.route = way->route;
    read.qp.label = way->label;
    return with_reverse(view, std::move(read));
  }

 private:
  Result<PortId> read_nic(const JsonView& view) const {
    const auto name = view.text();
    if (!name) return pass_on(name);
    const auto nic = fabric_.find_nic(*name);
    if (!nic) return view.error("{}", nic.error().message);
    return *nic;
  }

  Result<PhasedQp> with_reverse(const JsonView& view, PhasedQp read) const {
    const auto reverse = view.find("reverse");
    if (!reverse) return read;
    const auto way = read_way(*reverse, read.qp.dst, read.qp.src);
    if (!way) return pass_on(way);
    read.qp.reverse = *way;
    return read;
  }

  Result<Way> read_way(const JsonView& view, PortId src, PortId dst) const {
    const auto list = view.need("path");
    if (!list) return pass_on(list);
    const auto channels =
        read_array<ChannelId>(*list, [this](const JsonView& item) { return read_channel(item); });
    if (!channels) return pass_on(channels);
    const auto route = route_between(fabric_, src, dst, *channels);
    if (!route)
      return list->error("the path does not lead from {} to {}", fabric_.name_of_nic(src),
                         fabric_.name_of_nic(dst));
    Way way{*route, std::nullopt};
    if (const auto label = view.find("label")) {
      const auto number = label->count<std::uint32_t>();
      if (!number) return pass_on(number);
      way.label = PathLabel(*number);
    }
    return way;
  }

  Result<ChannelId> read_channel(const JsonView& view) const {
    const auto name = view.text();
    if (!name) return pass_on(name);
    const auto channel = fabric_.find_channel(*name);
    if (!channel) return view.error("{}", channel.error().message);
    return *channel;
  }

  const Fabric& fabric_;
};

}  // namespace

Result<std::vector<std::vector<KeptQp>>> parse_assignment(const Fabric& fabric, std::string_view text,
                                                          std::string_view what) {
  const auto json = parse_json(text, what);
  if (!json) return pass_on(json);
  const JsonView root(*json, what);
  if (const auto checked = check_schema(root, "weft.assignment/1"); !checked) return pass_on(checked);
  const auto list = root.need("assignments");
  if (!list) return pass_on(list);
  const AssignmentReader reader(fabric);
  const auto qps = read_array<PhasedQp>(*list, [&](const JsonView& view) { return reader.read(view); });
  if (!qps) return pass_on(qps);
  std::vector<std::vector<KeptQp>> phases;
  for (const PhasedQp& each : *qps) {
    if (phases.size() < each.phase) phases.resize(each.phase);
    phases[each.phase - 1].push_back(each.qp);
  }
  return phases;
}

}  // namespace weft
