// Two fabrics compared, of which B has one cable at half its rate: what a report is made of.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "collectors/compare/layers.hpp"
#include "collectors/compare/measured_fabric.hpp"
#include "collectors/report/comparison_report.hpp"
#include "topology/model/clos.hpp"

namespace weft {

/// Three blocks at least; neither copied nor moved: what it hands out points into it.
class ComparedExample {
 public:
  /// `named`: what the runs of B name, empty: nothing.
  explicit ComparedExample(const std::string& named = "leaf1--spine1", const std::string& side_b = "b.yaml") {
    for (int i = 0; i < 12; ++i) {
      of_a_.push_back(measured(47e6 + 1e4 * i, ""));
      of_b_.push_back(measured(25e6 + 1e4 * i, named));
      a_.push_back(run_of(of_a_.back()));
      b_.push_back(run_of(of_b_.back()));
    }
    comparison_ = compare::compare(a_, b_, {.design = compare::Design::blocks}).value();
    fabrics = {.a = "a.yaml",
               .b = side_b,
               .reasons = compare::reasons_of(of_a_, of_b_, comparison_),
               .named_a = {},
               .named_b = compare::named_places(of_b_),
               .measured_a = compare::measured_fabric("site", of_a_),
               .measured_b = compare::measured_fabric("site", of_b_),
               .remarks = {"block 2 was repeated"},
               .slow_b = {{"flows from " + named, 0.5}},
               .congestion = {{"np_cnp_sent", 1, 900, true}},
               .not_told = compare::not_told(of_a_, of_b_)};
  }
  ComparedExample(const ComparedExample&) = delete;
  ComparedExample& operator=(const ComparedExample&) = delete;

  report::ComparedRuns runs() const { return {comparison_, a_, b_, &fabrics}; }

  /// Two hosts under each of two leaves, one spine.
  static Fabric fabric() {
    return make_clos({.name = "site", .leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  }

  report::ComparedFabrics fabrics;

 private:
  /// Two flows meet on the way from the first leaf to the second; `rate` is what each gets.
  static compare::MeasuredRun measured(double rate, const std::string& named) {
    compare::MeasuredRun run{.name = "run",
                             .pattern = "all-pairs",
                             .channels = {"host1->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->host3",
                                          "host2->leaf1", "leaf2->host4"},
                             .flows = {},
                             .trips = {},
                             .culprits = {},
                             .line_rate = 100e6};
    run.flows = {
        {.round = 0, .src = "host1", .dst = "host3", .path = {0, 1, 2, 3}, .wanted = 47e6, .delivered = rate},
        {.round = 0,
         .src = "host2",
         .dst = "host4",
         .path = {4, 1, 2, 5},
         .wanted = 47e6,
         .delivered = rate}};
    if (named.empty()) return run;
    run.culprits = {{.place = named, .cause = Cause::rate, .value = 0.5, .channels = {1}},
                    {.place = "one of host1->leaf1, host2->leaf1",
                     .cause = Cause::loss,
                     .channels = {0, 4},
                     .is_one_of = true}};
    run.queues = {{"leaf2->host3 or leaf2->host4", 2e-5, {"leaf2->host3", "leaf2->host4"}}};
    return run;
  }

  std::vector<compare::MeasuredRun> of_a_, of_b_;
  std::vector<compare::Run> a_, b_;
  compare::Comparison comparison_;
};

}  // namespace weft
