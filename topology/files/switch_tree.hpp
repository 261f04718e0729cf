// Which hosts a scheduler believes to be under one switch: a topology.conf or topology.yaml of Slurm's
// topology/tree plug-in, by hand, by `weft topology export` or by NVIDIA's topograph. It knows no cables and
// no ports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::files {

struct SwitchOfTree {
  std::string name;
  std::vector<std::string> hosts;  // right under it, each once
};

/// A switch above others.
struct SwitchAbove {
  std::string name;
  std::vector<std::string> children;  // names of switches, each once
};

struct SwitchTree {
  std::string source;                     // the file, for messages
  std::vector<SwitchOfTree> switches;     // those with hosts, in the order of the file
  std::vector<std::string> remarks = {};  // what was left out
  std::vector<SwitchAbove> above = {};    // in the order of the file
};

/// Text of either form, told apart by what is in it. Blocks (topology/block: NVLink domains) are left out,
/// with a remark; there is one too for a switch under another of which nothing else is said. Errors
/// (invalid_input) give file, line and what is wrong; a host, or a switch, under two switches of one tree is
/// one, and so are a switch below itself and a file without any switch that has hosts.
Result<SwitchTree> parse_switch_tree(std::string_view text, const std::string& file);

}  // namespace weft::files
