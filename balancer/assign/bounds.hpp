// Bounds: what no assignment can beat, in bytes on the busiest channel between switches (scaled to the
// reference rate). The integral bound is for K equal QPs a flow: with K QPs a pair of leaves, d flows out of
// a leaf and so on, max(ceil(K d_leaf / live uplinks), ceil(K n_ab / common spines), ceil(K d_pod / live core
// links)) / K, in and out; where speeds differ, the least T for which the channels' whole quanta,
// sum floor(T c / q), hold the demand. The fractional bound is the same without rounding: a set of cuts, so
// never above the optimum of the linear programme (lp_bound.hpp). Hosts' cables are reported, never part of a
// bound.
#pragma once

#include <vector>

#include "balancer/assign/instance.hpp"

namespace weft::assign {

struct Bounds {
  double integral = 0;    // bytes; B_int. Flows of different sizes: the fractional bound or the greatest item
  double fractional = 0;  // bytes; by cuts
  double nic = 0;         // bytes on the busiest host cable
  std::vector<double> leaf_out;  // bytes, per leaf: its own integral bound, out of it
  std::vector<double> leaf_in;
};

/// Needs the routes of every group filled, unless `regular`: every pair of leaves in a pod has routes over
/// all uplinks, so that no pair can be the bottleneck.
Bounds bounds_of(const Instance& instance, const Routes& routes, bool regular);

/// The least t for which channels of these weights hold n whole quanta: sum floor(t w) >= n. No channel:
/// infinity, unless n is 0.
double least_time(const std::vector<double>& weights, double n);

}  // namespace weft::assign
