#include "balancer/assign/weigh.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr double kCloseEnough = 1.001;
constexpr double kFirstSharpness = 20;   // of the soft maximum, per bound
constexpr double kLastSharpness = 6000;  // within ln(channels) / 6000 of the true maximum
constexpr int kSweepsEach = 12;

class Weighing {
 public:
  Weighing(const Instance& instance, const std::vector<SwitchRoute>& taken, double bound)
      : instance_(instance),
        taken_(taken),
        bound_(bound),
        load_(instance.weight.size()),
        bytes_(taken.size()) {
    for (ItemId item = 0; item < taken.size(); ++item) {
      bytes_[item] = instance.bytes_of(item);
      add(item, bytes_[item]);
    }
    best_ = bytes_;
    least_ = busiest();
  }

  std::vector<double> solve() && {
    for (double sharpness = kFirstSharpness; sharpness < kLastSharpness; sharpness *= 2)
      for (int sweep = 0; sweep < kSweepsEach; ++sweep) {
        if (least_ <= bound_ * kCloseEnough) return std::move(best_);
        sweep_flows(sharpness / bound_);
        remember();
      }
    return std::move(best_);
  }

 private:
  void add(ItemId item, double bytes) {
    for (const ChannelId c : taken_[item].channels()) load_[c.value()] += bytes / instance_.weight[c.value()];
  }

  double busiest() const { return *std::ranges::max_element(load_); }

  void remember() {
    if (const double now = busiest(); now < least_) {
      least_ = now;
      best_ = bytes_;
    }
  }

  /// How much one more byte on this route raises the soft maximum.
  double price(ItemId item, double sharpness) const {
    double sum = 0;
    for (const ChannelId c : taken_[item].channels())
      sum += std::exp(sharpness * (load_[c.value()] - bound_)) / instance_.weight[c.value()];
    return sum;
  }

  /// Moves bytes from each flow's dearest route to its cheapest, as far as evens their prices.
  void sweep_flows(double sharpness) {
    const std::uint32_t qps = instance_.qps;
    for (ItemId first = 0; first < taken_.size(); first += qps) {
      ItemId dear = first, cheap = first;
      double dearest = -1, cheapest = INFINITY;
      for (ItemId item = first; item < first + qps; ++item) {
        const double each = price(item, sharpness);
        if (each < cheapest) cheapest = each, cheap = item;
        if (each > dearest && bytes_[item] > 0) dearest = each, dear = item;
      }
      if (dearest <= cheapest) continue;
      const double log_ratio = std::min(std::log(dearest / std::max(cheapest, 1e-300)), 50.0);
      const double moved = std::min(bytes_[dear], log_ratio / (2 * sharpness) * least_weight(dear, cheap));
      add(dear, -moved);
      add(cheap, moved);
      bytes_[dear] -= moved;
      bytes_[cheap] += moved;
    }
  }

  double least_weight(ItemId a, ItemId b) const {
    double least = INFINITY;
    for (const ItemId item : {a, b})
      for (const ChannelId c : taken_[item].channels()) least = std::min(least, instance_.weight[c.value()]);
    return least;
  }

  const Instance& instance_;
  const std::vector<SwitchRoute>& taken_;
  double bound_;
  std::vector<double> load_;   // per channel: bytes over weight
  std::vector<double> bytes_;  // per item
  std::vector<double> best_;
  double least_ = 0;
};

}  // namespace

std::vector<double> weigh(const Instance& instance, const std::vector<SwitchRoute>& taken, double bound) {
  std::vector<double> bytes;
  if (instance.qps > 1 && bound > 0 && !taken.empty()) return Weighing(instance, taken, bound).solve();
  for (ItemId item = 0; item < taken.size(); ++item) bytes.push_back(instance.bytes_of(item));
  return bytes;
}

}  // namespace weft
