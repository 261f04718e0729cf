// `weft agent` in a guest whose memory changes a byte of what it received; put in the place of the guest's
// weft by RdmaRig::TestAgent. It knows no other command.
#include <algorithm>

#include "cli/agent.hpp"
#include "probes/run/agent.hpp"
#include "probes/run/engines.hpp"
#include "tests/fakes/flipping_buffer.hpp"

int main(int argc, char** argv) {
  const auto bad_memory =
      [](weft::Bytes size) -> weft::Result<std::unique_ptr<weft::packet::TransferBuffer>> {
    auto memory = weft::run::host_memory(size);
    if (!memory) return weft::pass_on(memory);
    return std::make_unique<weft::FlippingBuffer>(std::move(*memory));
  };
  // Its first word is the command: `agent`.
  return weft::cli::run_agent_command(std::vector<std::string>(argv + std::min(argc, 2), argv + argc),
                                      {.memory = bad_memory});
}
