// What a job's environment says to libweft-nccl.so. The one place that reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft::nccl {

struct Environment {
  std::string directory;              // WEFT_NCCL_DIR; empty: the library does nothing
  std::optional<std::uint32_t> rank;  // as the launcher says it
  std::string job;                    // whose lists this process takes; empty: those of no job alone
  std::string tuner;                  // WEFT_NCCL_TUNER: a tuner table
  std::uint32_t profile_every = 0;    // WEFT_NCCL_PROFILE: of how many collectives one is told; 0: none
};

/// As it was when first asked for.
const Environment& environment();

/// For NCCL's env interface, which asks a plugin instead of the environment. Null: not set.
const char* environment_variable(const char* name);

}  // namespace weft::nccl
