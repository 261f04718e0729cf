#include "topology/findings/flow_result.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "topology/base/statistics.hpp"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kOperations{"write", "read", "send"};
constexpr std::array<std::string_view, 3> kPatterns{"links", "incast", "all-pairs"};

template <class T, std::size_t N>
std::optional<T> parse_word(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<T>(found - words.begin());
}

double share_of_right(const FlowResult& flow) {
  return flow.wanted > Bandwidth() ? flow.delivered / flow.wanted : 1.0;
}

std::vector<const FlowResult*> slow_flows(const std::vector<FlowResult>& flows) {
  std::vector<double> shares;
  for (const FlowResult& flow : flows) shares.push_back(share_of_right(flow));
  if (shares.empty()) return {};
  const double usual = median(shares);
  std::vector<const FlowResult*> slow;
  for (const FlowResult& flow : flows)
    if (share_of_right(flow) < kSlowFlow * usual) slow.push_back(&flow);
  return slow;
}

}  // namespace

std::string_view to_string(FlowOperation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}
std::optional<FlowOperation> parse_flow_operation(std::string_view text) {
  return parse_word<FlowOperation>(kOperations, text);
}
std::string_view to_string(LoadPattern pattern) { return kPatterns[static_cast<std::size_t>(pattern)]; }
std::optional<LoadPattern> parse_load_pattern(std::string_view text) {
  return parse_word<LoadPattern>(kPatterns, text);
}

std::vector<SlowNic> slow_nics(std::vector<FlowResult> flows) {
  std::erase_if(flows, [](const FlowResult& flow) { return flow.sender_stalled; });
  std::vector<SlowNic> named;
  if (flows.empty()) return named;
  auto open = slow_flows(flows);
  using End = std::pair<PortId, bool>;  // NIC, receives
  std::map<End, std::size_t> all;
  for (const FlowResult& flow : flows) ++all[{flow.src, false}], ++all[{flow.dst, true}];
  while (!open.empty()) {
    std::map<End, std::size_t> slow;
    for (const FlowResult* flow : open) ++slow[{flow->src, false}], ++slow[{flow->dst, true}];
    const auto share = [&](const auto& end) {
      return static_cast<double>(end.second) / static_cast<double>(all[end.first]);
    };
    const auto worst = std::ranges::max_element(slow, [&](const auto& a, const auto& b) {
      return std::pair(share(a), a.second) < std::pair(share(b), b.second);
    });
    const auto [end, count] = *worst;
    if (count < 2 || 2 * count < all[end]) break;
    named.push_back({end.first, end.second, count, all[end]});
    std::erase_if(open, [&end = end](const FlowResult* flow) {
      return (end.second ? flow->dst : flow->src) == end.first;
    });
  }
  return named;
}

}  // namespace weft
