// `weft agent` in a guest that does not know soft-RoCE when it sees it, so that probes may go by its
// datagrams although their labels are not followed; put in the place of the guest's weft by
// RdmaRig::TestAgent. It knows no other command.
#include <algorithm>

#include "cli/agent.hpp"
#include "probes/engine/verbs/verbs_engine.hpp"

namespace {

weft::Result<std::shared_ptr<const weft::rdma::VerbsLibrary>> blind_library() {
  const auto library = weft::rdma::VerbsLibrary::load();
  if (!library) return weft::pass_on(library);
  auto blind = std::make_shared<weft::rdma::VerbsLibrary>(**library);
  blind->is_soft_roce = nullptr;
  return blind;
}

}  // namespace

int main(int argc, char** argv) {
  const auto any_device = [](const weft::verbs::VerbsOptions& options)
      -> weft::Result<std::shared_ptr<weft::verbs::VerbsEngine>> {
    auto library = blind_library();
    if (!library) return weft::pass_on(library);
    return weft::verbs::open_verbs_engine(*std::move(library), options);
  };
  const auto any_port =
      [](const weft::verbs::UdPortOptions& options) -> weft::Result<std::unique_ptr<weft::verbs::UdPort>> {
    auto library = blind_library();
    if (!library) return weft::pass_on(library);
    return weft::verbs::open_ud_port(*std::move(library), options);
  };
  // Its first word is the command: `agent`.
  return weft::cli::run_agent_command(std::vector<std::string>(argv + std::min(argc, 2), argv + argc),
                                      {.open_verbs = any_device, .open_ud = any_port});
}
