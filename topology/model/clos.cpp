#include "topology/model/clos.hpp"

#include <initializer_list>
#include <vector>

#include "topology/base/check.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

/// What all three fabrics come down to: pods of groups of leaves; `rails` leaves take one NIC each of every
/// host of their group (1: a plain Clos, where a group is one leaf).
struct Shape {
  std::string name;
  FabricKind kind;
  std::uint64_t pods;
  std::uint64_t groups;  // per pod
  std::uint64_t rails;   // leaves of a group, NICs of a host
  std::uint64_t hosts;   // per group
  std::uint64_t spines;  // per pod
  std::uint64_t cores;   // in all; 0: two tiers
  Bandwidth link;
};

struct Number {
  std::string_view key;
  std::uint32_t value;
};

Result<void> all_above_zero(std::string_view what, std::initializer_list<Number> numbers) {
  for (const Number& number : numbers)
    if (number.value == 0)
      return fail(ErrorKind::invalid_input, "{}: {} must be above zero", what, number.key);
  return {};
}

Result<void> check_size(const Shape& shape, std::string_view what) {
  if (shape.link <= Bandwidth()) return fail(ErrorKind::invalid_input, "{}: link must be above zero", what);
  if (shape.pods > 1 && shape.cores == 0)
    return fail(ErrorKind::invalid_input, "{}: {} pods need cores to join them", what, shape.pods);
  if (shape.cores % shape.spines != 0)
    return fail(ErrorKind::invalid_input, "{}: cores ({}) must be a multiple of spines ({})", what,
                shape.cores, shape.spines);
  // In double, so that no product of 32-bit numbers wraps.
  const auto wide = [](std::uint64_t n) { return static_cast<double>(n); };
  const double leaves = wide(shape.pods) * wide(shape.groups) * wide(shape.rails);
  const double links = leaves * wide(shape.hosts + shape.spines) + wide(shape.pods) * wide(shape.cores);
  if (links > wide(kMaxLinks))
    return fail(ErrorKind::invalid_input, "{}: the fabric would have more than {} links", what, kMaxLinks);
  constexpr std::uint64_t kMaxPorts = 65'535;  // PortNumber
  if (shape.hosts + shape.spines > kMaxPorts || shape.groups * shape.rails + shape.cores > kMaxPorts ||
      shape.pods > kMaxPorts)
    return fail(ErrorKind::invalid_input, "{}: a switch would have more than {} ports", what, kMaxPorts);
  return {};
}

class ClosMaker {
 public:
  explicit ClosMaker(const Shape& shape) : shape_(shape), builder_(shape.name, shape.kind) {}

  Fabric make() && {
    for (std::uint64_t pod = 0; pod < shape_.pods; ++pod) add_hosts_and_leaves(pod);
    for (std::uint64_t pod = 0; pod < shape_.pods; ++pod) add_spines(pod);
    if (shape_.cores > 0) add_cores();
    return std::move(builder_).build();
  }

 private:
  bool has_pods() const { return shape_.cores > 0; }
  std::optional<std::uint32_t> pod_of(std::uint64_t pod) const {
    return has_pods() ? std::optional(static_cast<std::uint32_t>(pod + 1)) : std::nullopt;
  }

  NodeId add(std::string_view stem, std::size_t number, NodeKind kind, Tier tier,
             std::optional<std::uint32_t> pod, std::optional<std::uint32_t> plane) {
    const auto id = builder_.add_node(
        {.name = fmt::format("{}{}", stem, number), .kind = kind, .tier = tier, .pod = pod, .plane = plane});
    WEFT_CHECK(id.has_value());
    return *id;
  }

  void add_hosts_and_leaves(std::uint64_t pod) {
    for (std::uint64_t group = 0; group < shape_.groups; ++group) {
      const auto first_leaf = leaves_.size();
      for (std::uint64_t rail = 0; rail < shape_.rails; ++rail)
        leaves_.push_back(
            add("leaf", leaves_.size() + 1, NodeKind::switch_, Tier::leaf, pod_of(pod), std::nullopt));
      for (std::uint64_t host = 0; host < shape_.hosts; ++host) {
        const auto id = add("host", ++hosts_, NodeKind::host, Tier::host, pod_of(pod), std::nullopt);
        for (std::uint64_t rail = 0; rail < shape_.rails; ++rail)
          builder_.connect(id, leaves_[first_leaf + rail], shape_.link);
      }
    }
  }

  void add_spines(std::uint64_t pod) {
    const auto leaves_per_pod = shape_.groups * shape_.rails;
    const auto first_spine = spines_.size();
    for (std::uint64_t spine = 0; spine < shape_.spines; ++spine) {
      const auto plane = has_pods() ? std::optional(static_cast<std::uint32_t>(spine + 1)) : std::nullopt;
      spines_.push_back(add("spine", spines_.size() + 1, NodeKind::switch_, Tier::spine, pod_of(pod), plane));
    }
    for (std::uint64_t leaf = 0; leaf < leaves_per_pod; ++leaf)
      for (std::uint64_t spine = 0; spine < shape_.spines; ++spine)
        builder_.connect(leaves_[pod * leaves_per_pod + leaf], spines_[first_spine + spine], shape_.link);
  }

  void add_cores() {
    const auto share = shape_.cores / shape_.spines;
    for (std::uint64_t core = 0; core < shape_.cores; ++core) {
      const auto plane = core / share;
      const auto id = add("core", core + 1, NodeKind::switch_, Tier::core, std::nullopt,
                          static_cast<std::uint32_t>(plane + 1));
      for (std::uint64_t pod = 0; pod < shape_.pods; ++pod)
        builder_.connect(spines_[pod * shape_.spines + plane], id, shape_.link);
    }
  }

  Shape shape_;
  FabricBuilder builder_;
  std::size_t hosts_ = 0;
  std::vector<NodeId> leaves_;
  std::vector<NodeId> spines_;
};

Result<Fabric> make(const Shape& shape, std::string_view what) {
  WEFT_TRY_VOID(check_size(shape, what));
  return ClosMaker(shape).make();
}

}  // namespace

Result<Fabric> make_clos(const ClosSpec& spec) {
  if (const auto ok = all_above_zero(
          "clos",
          {{"leaves", spec.leaves}, {"spines", spec.spines}, {"hosts_per_leaf", spec.hosts_per_leaf}});
      !ok)
    return pass_on(ok);
  return make({spec.name, spec.kind, 1, spec.leaves, 1, spec.hosts_per_leaf, spec.spines, 0, spec.link},
              "clos");
}

Result<Fabric> make_pod_clos(const PodClosSpec& spec) {
  if (const auto ok = all_above_zero("clos", {{"pods", spec.pods},
                                              {"leaves", spec.leaves},
                                              {"spines", spec.spines},
                                              {"cores", spec.cores},
                                              {"hosts_per_leaf", spec.hosts_per_leaf}});
      !ok)
    return pass_on(ok);
  return make({spec.name, spec.kind, spec.pods, spec.leaves, 1, spec.hosts_per_leaf, spec.spines, spec.cores,
               spec.link},
              "clos");
}

Result<Fabric> make_rails(const RailsSpec& spec) {
  if (const auto ok = all_above_zero("rails", {{"groups", spec.groups},
                                               {"hosts_per_group", spec.hosts_per_group},
                                               {"rails", spec.rails},
                                               {"spines", spec.spines},
                                               {"pods", spec.pods}});
      !ok)
    return pass_on(ok);
  return make({spec.name, spec.kind, spec.pods, spec.groups, spec.rails, spec.hosts_per_group, spec.spines,
               spec.cores, spec.link},
              "rails");
}

}  // namespace weft
