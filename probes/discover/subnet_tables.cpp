#include "probes/discover/subnet_tables.hpp"

#include <algorithm>

#include "probes/mad/mad_attributes.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

constexpr std::uint32_t kAdaptive = 0xFFFF;  // in a tag, in place of a block

class TableQuestions : public mad::MadDialogue {
 public:
  TableQuestions(const InfinibandFabric& fabric, const SubnetRoutes& routes,
                 routing::ForwardingTables& tables)
      : fabric_(fabric.fabric),
        inventory_(fabric.inventory),
        routes_(routes),
        tables_(tables),
        unread_(tables.switch_count()) {
    for (const auto& [guid, top] : routes.table_top)
      last_block_ = std::max<std::uint32_t>(last_block_, top / mad::kLidsPerBlock);
  }

  /// Whether each switch is adaptive, then the first block of every switch, then the second: no switch is
  /// asked for all its blocks at once.
  std::optional<mad::MadQuestion> next() override {
    while (adaptive_ < tables_.switch_count())
      if (auto question = adaptive_of(adaptive_++)) return question;
    for (; block_ <= last_block_; ++block_, switch_ = 0)
      while (switch_ < tables_.switch_count())
        if (auto question = block_of(switch_++)) return question;
    return std::nullopt;
  }

  void answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) override {
    const auto index = static_cast<std::size_t>(question.tag >> 16);
    const auto block = static_cast<std::uint32_t>(question.tag & 0xFFFF);
    if (block == kAdaptive) return take_adaptive(tables_.switch_at(index), answer);
    if (answer.outcome != mad::MadOutcome::answered) {
      ++unread_[index];
      return;
    }
    std::array<std::uint8_t, mad::kLidsPerBlock> ports;
    for (std::size_t i = 0; i < ports.size(); ++i) ports[i] = load_u8(answer.data, i);
    tables_.set(tables_.switch_at(index), block * static_cast<std::uint32_t>(mad::kLidsPerBlock), ports);
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < unread_.size(); ++i)
      if (unread_[i] > 0)
        result.push_back(fmt::format("{}: {} blocks of its forwarding table could not be read",
                                     fabric_.name_of(tables_.switch_at(i)), unread_[i]));
    return result;
  }

 private:
  /// Asked of that vendor's switches alone: others would refuse, or keep silent for a timeout.
  std::optional<mad::MadQuestion> adaptive_of(std::size_t index) const {
    const NodeId node = tables_.switch_at(index);
    const auto guid = fabric_.node(node).guid;
    if (inventory_.nodes[node.value()].vendor != mad::kMellanox || !guid ||
        !routes_.table_top.contains(*guid))
      return std::nullopt;
    return mad::MadQuestion{.to = routes_.to.at(*guid),
                            .attribute = mad::MadAttribute::adaptive_routing,
                            .tag = std::uint64_t{index} << 16 | kAdaptive};
  }

  void take_adaptive(NodeId node, const mad::MadAnswer& answer) {
    if (answer.outcome == mad::MadOutcome::refused)
      return tables_.set_adaptive(node, routing::AdaptiveRouting::off);
    if (answer.outcome != mad::MadOutcome::answered) return;  // unknown, as it was
    const auto info = mad::decode_adaptive_routing(answer.data);
    if (!info) return;
    tables_.set_adaptive(node, !info->enabled ? routing::AdaptiveRouting::off
                               : (info->service_levels & 1) != 0
                                   ? routing::AdaptiveRouting::on
                                   : routing::AdaptiveRouting::other_service_levels);
  }

  std::optional<mad::MadQuestion> block_of(std::size_t index) const {
    const auto guid = fabric_.node(tables_.switch_at(index)).guid;
    const auto top = guid ? routes_.table_top.find(*guid) : routes_.table_top.end();
    if (top == routes_.table_top.end() || block_ > top->second / mad::kLidsPerBlock) return std::nullopt;
    return mad::MadQuestion{.to = routes_.to.at(*guid),
                            .attribute = mad::MadAttribute::linear_forwarding_table,
                            .modifier = block_,
                            .tag = std::uint64_t{index} << 16 | block_};
  }

  const Fabric& fabric_;
  const InfinibandInventory& inventory_;
  const SubnetRoutes& routes_;
  routing::ForwardingTables& tables_;
  std::vector<unsigned> unread_;
  std::size_t adaptive_ = 0;  // the next switch to ask whether it is
  std::size_t switch_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t last_block_ = 0;
};

}  // namespace

Result<TableReading> read_tables(mad::Mads& mads, const InfinibandFabric& fabric, const SubnetRoutes& routes,
                                 const mad::MadLimits& limits, std::stop_token stop) {
  TableReading reading{.tables = routing::ForwardingTables(fabric)};
  TableQuestions questions(fabric, routes, reading.tables);
  const auto tally = converse(mads, questions, limits, stop);
  if (!tally) return pass_on(tally, "reading the forwarding tables");
  reading.tally = *tally;
  reading.remarks = questions.remarks();
  return reading;
}

}  // namespace weft::discover
