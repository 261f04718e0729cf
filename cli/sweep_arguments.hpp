// The options that sweep and simulate share, and how they are read.
#pragma once

#include "cli/options.hpp"
#include "probes/session/sweep_options.hpp"

namespace weft::cli {

void add_sweep_options(po::options_description& options);

/// `--detect loss=0.2%,rate=25%`: the smallest faults that must show.
void add_detect_option(po::options_description& options);
Result<diagnosis::Detect> read_detect(const po::variables_map& values);

/// `--tolerate loss=0.01%,delay=1ms`: what is put up with. What it leaves open the fabric file says, and
/// then `usual`.
void add_tolerate_option(po::options_description& options);
Result<Tolerance> read_tolerance(const po::variables_map& values, const StatedTolerance& of_file,
                                 Tolerance usual = {});

/// `live`: a fabric that jobs run on: not loaded unless asked for, and its switches are asked gently; labs
/// and simulations are loaded in full and answer as fast as they are asked.
/// Whoever knows the fabric file reads the tolerance once more, with what the file says.
Result<session::SweepOptions> read_sweep_options(const po::variables_map& values, bool live);

/// On InfiniBand nothing is loaded: says so on stderr where load was asked for.
void note_missing_load(const po::variables_map& values);

}  // namespace weft::cli
