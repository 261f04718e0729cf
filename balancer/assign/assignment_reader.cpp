#include "balancer/assign/assignment_reader.hpp"

#include "balancer/assign/known_paths.hpp"
#include "balancer/demand/flow_file.hpp"
#include "topology/files/finding_fields.hpp"
#include "topology/files/json_fields.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

struct PhasedQp {
  KeptQp qp;
  std::size_t phase = 1;
};

class AssignmentReader {
 public:
  explicit AssignmentReader(const Fabric& fabric) : fabric_(fabric) {}

  Result<PhasedQp> read(const files::JsonView& view) const {
    PhasedQp read;
    std::uint64_t number = 0;
    std::uint64_t phase = 1;
    const auto as_nic = [this](const files::JsonView& nic) { return read_nic(nic); };
    WEFT_TRY_VOID(in_turn([&] { return need_member(view, "src", read.qp.src, as_nic); },
                          [&] { return need_member(view, "dst", read.qp.dst, as_nic); },
                          [&] { return need_member(view, "qp", number, files::as_count); },
                          [&] { return read_member(view, "phase", phase, files::as_count); }));
    if (number >= kMaxQps) return view.error("QP {}: expected 0 to {}", number, kMaxQps - 1);
    if (phase < 1 || phase > demand::kMaxPhases)
      return view.error("phase {}: expected 1 to {}", phase, demand::kMaxPhases);
    read.qp.qp = static_cast<std::uint32_t>(number);
    read.phase = static_cast<std::size_t>(phase);
    WEFT_TRY(const auto way, read_way(view, read.qp.src, read.qp.dst));
    read.qp.route = way.route;
    read.qp.label = way.label;
    return with_reverse(view, read);
  }

 private:
  Result<PortId> read_nic(const files::JsonView& view) const {
    WEFT_TRY(const auto name, view.text());
    const auto nic = fabric_.find_nic(name);
    if (!nic) return view.error("{}", nic.error().message);
    return *nic;
  }

  Result<PhasedQp> with_reverse(const files::JsonView& view, PhasedQp read) const {
    const auto reverse = view.find("reverse");
    if (!reverse) return read;
    WEFT_TRY(const auto way, read_way(*reverse, read.qp.dst, read.qp.src));
    read.qp.reverse = way;
    return read;
  }

  Result<Way> read_way(const files::JsonView& view, PortId src, PortId dst) const {
    WEFT_TRY(const auto list, view.need("path"));
    const auto channels = files::read_array<ChannelId>(
        list, [this](const files::JsonView& item) { return files::read_channel(fabric_, item); });
    if (!channels) return pass_on(channels);
    const auto route = route_between(fabric_, src, dst, *channels);
    if (!route)
      return list.error("the path does not lead from {} to {}", fabric_.name_of_nic(src),
                        fabric_.name_of_nic(dst));
    Way way{*route, std::nullopt};
    if (const auto label = view.find("label")) {
      WEFT_TRY(const auto number, label->count<std::uint32_t>());
      way.label = PathLabel(number);
    }
    return way;
  }

  const Fabric& fabric_;
};

}  // namespace

Result<std::vector<std::vector<KeptQp>>> parse_assignment(const Fabric& fabric, std::string_view text,
                                                          std::string_view what) {
  WEFT_TRY(const auto json, files::parse_json(text, what));
  const files::JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, "weft.assignment/1"));
  WEFT_TRY(const auto list, root.need("assignments"));
  const AssignmentReader reader(fabric);
  WEFT_TRY(const auto qps,
           files::read_array<PhasedQp>(list, [&](const files::JsonView& view) { return reader.read(view); }));
  std::vector<std::vector<KeptQp>> phases;
  for (const PhasedQp& each : qps) {
    if (phases.size() < each.phase) phases.resize(each.phase);
    phases[each.phase - 1].push_back(each.qp);
  }
  return phases;
}

}  // namespace weft::assign
