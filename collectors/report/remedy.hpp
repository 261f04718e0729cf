// What an operator does about a finding, in one sentence: by its cause, its direction and what shares it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/findings/verdict.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {

/// What a finding is about: that decides which part is touched first.
enum class Place { link, host_cable, host, node, set, fabric, not_tested };

/// Whether a cable is elsewhere than the fabric file has it: then it is not bad, but for what else is known.
enum class Miswired { no, beside_a_fault, alone };

struct Trouble {
  Place place = Place::link;
  std::optional<Cause> cause = std::nullopt;
  FabricKind kind = FabricKind::roce;
  std::string a, b;      // the ports of its cable, "leaf1 port 6"; empty where it has none
  bool one_way = false;  // only packets from `a` to `b` suffer
  bool shuts = false;    // bad enough that routes leave it before anything else is done
  bool comes_and_goes = false;
  bool may_be_traffic = false;  // its flows were held back as by other traffic
  /// Who began the pause frames that stopped its sender, with their number; empty: none were counted.
  std::string paused_by = {};
  /// What is broken, as probabilities say: "clean the connector at leaf4/p6 (.83), else ..."; empty: not
  /// known.
  std::string repair = {};
  Miswired miswired = Miswired::no;
};

/// Without "do:" and without a full stop.
std::string what_to_do(const Trouble& trouble);

}  // namespace weft::report
