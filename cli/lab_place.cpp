#include "cli/lab_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {

std::filesystem::path lab_state_root() {
  if (geteuid() == 0) return lab::kLabsOfRoot;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    return std::filesystem::path(runtime) / "weft/labs";
  return fmt::format("/tmp/weft-{}/labs", geteuid());
}

std::filesystem::path ib_lab_root() { return lab_state_root().parent_path() / "ib-labs"; }

std::vector<NodeId> guests_of(const lab::Lab& lab) {
  std::vector<NodeId> guests;
  for (const NodeId host : lab.fabric().hosts())
    if (lab.is_guest(host)) guests.push_back(host);
  return guests;
}

Result<run::EngineKind> choose_lab_engine(std::optional<run::EngineKind> asked, const lab::Lab& lab) {
  const bool has_guests = !guests_of(lab).empty();
  const run::EngineKind engine = asked.value_or(has_guests ? run::EngineKind::verbs : run::EngineKind::raw);
  switch (engine) {
    case run::EngineKind::raw:
    case run::EngineKind::dpdk:
      if (!has_guests) return engine;
      return fail(ErrorKind::not_supported,
                  "--engine {}: the RDMA devices of this lab's guests take the probes; use --engine verbs",
                  to_string(engine));
    case run::EngineKind::verbs:
      if (has_guests) return engine;
      return fail(ErrorKind::absent,
                  "--engine verbs: no host of lab '{}' has an RDMA device; say `lab: {{guests: all}}` in its "
                  "fabric file",
                  lab.name());
    case run::EngineKind::umad:
    case run::EngineKind::ibsim:
    case run::EngineKind::automatic:
      break;
  }
  return fail(ErrorKind::usage, "--engine {}: lab '{}' is a RoCE fabric", to_string(engine), lab.name());
}

}  // namespace weft::cli
