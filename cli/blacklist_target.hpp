// What a blacklist is synchronized with: the options that name a target, and the target that they name.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "balancer/export/target.hpp"
#include "cli/options.hpp"

namespace weft::cli {

/// Those with a name; any other is a program (exec:PROGRAM).
inline constexpr std::array<std::string_view, 6> kNamedTargets{"slurm", "kubernetes", "opensm",
                                                               "ufm",   "sonic",      "cumulus"};

void add_target_options(OptionParser& parser);

/// The target of --to. It must not outlive `values` and the fabric. Errors: usage, not_supported, and of
/// Kubernetes and UFM what a file with a token or a password has.
Result<std::unique_ptr<exports::Target>> open_target(const po::variables_map& values, const Fabric& fabric);

}  // namespace weft::cli
