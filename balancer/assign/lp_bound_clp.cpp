#include <ClpSimplex.hpp>
#include <limits>
#include <vector>

#include "balancer/assign/lp_bound.hpp"

namespace weft::assign {
namespace {

/// Minimise T; for every group: its routes carry its bytes; for every channel: load - weight T <= 0. Bytes
/// are scaled so that the greatest group is 1.
class Programme {
 public:
  explicit Programme(const Instance& instance) : instance_(instance) {
    for (const FlowGroup& group : instance.groups) scale_ = std::max(scale_, group.bytes);
    row_of_channel_.assign(instance.weight.size(), -1);
    for (const FlowGroup& group : instance.groups)
      if (group.flows > 0) add_group(group);
  }

  double solve() {
    ClpSimplex simplex;
    simplex.setLogLevel(0);
    const int rows = static_cast<int>(row_low_.size());
    const int t = static_cast<int>(starts_.size());
    starts_.push_back(static_cast<int>(indices_.size()));
    for (std::size_t c = 0; c < row_of_channel_.size(); ++c)
      if (row_of_channel_[c] >= 0) put(row_of_channel_[c], -instance_.weight[c]);
    starts_.push_back(static_cast<int>(indices_.size()));
    std::vector<double> low(static_cast<std::size_t>(t) + 1, 0.0);
    std::vector<double> high(static_cast<std::size_t>(t) + 1, COIN_DBL_MAX);
    std::vector<double> cost(static_cast<std::size_t>(t) + 1, 0.0);
    cost.back() = 1;
    simplex.loadProblem(t + 1, rows, starts_.data(), indices_.data(), values_.data(), low.data(), high.data(),
                        cost.data(), row_low_.data(), row_high_.data());
    simplex.initialSolve();
    return simplex.isProvenOptimal() ? simplex.objectiveValue() * scale_ : -1;
  }

 private:
  void add_group(const FlowGroup& group) {
    const int own = add_row(group.bytes / scale_, group.bytes / scale_);
    for (const SwitchRoute& route : group.routes) {
      starts_.push_back(static_cast<int>(indices_.size()));
      put(own, 1);
      for (const ChannelId channel : route.channels()) {
        int& row = row_of_channel_[channel.value()];
        if (row < 0) row = add_row(-COIN_DBL_MAX, 0);
        put(row, 1);
      }
    }
  }

  int add_row(double low, double high) {
    row_low_.push_back(low);
    row_high_.push_back(high);
    return static_cast<int>(row_low_.size()) - 1;
  }

  void put(int row, double value) {
    indices_.push_back(row);
    values_.push_back(value);
  }

  const Instance& instance_;
  double scale_ = 0;
  std::vector<int> row_of_channel_;
  std::vector<int> starts_, indices_;  // columns, compressed
  std::vector<double> values_;
  std::vector<double> row_low_, row_high_;
};

}  // namespace

std::optional<double> lp_optimum(const Instance& instance, std::size_t most_variables) {
  std::size_t variables = 0;
  for (const FlowGroup& group : instance.groups) variables += group.flows > 0 ? group.routes.size() : 0;
  if (variables == 0 || variables > most_variables) return std::nullopt;
  const double optimum = Programme(instance).solve();
  return optimum >= 0 ? std::optional(optimum) : std::nullopt;
}

}  // namespace weft::assign
