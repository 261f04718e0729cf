#include "topology/files/rates.hpp"

namespace weft::files {
namespace {

// Grattafiori et al., "The Llama 3 Herd of Models" (2024), table 5: 419 unexpected interruptions within 54
// days on 16,384 GPUs. Counts are used: the column of shares adds up to 94.9 %. By class: GPU 148 faulty, 72
// HBM3, 19 SRAM, 17 system processor, 6 silent corruption, 6 thermal; host 32 maintenance, 3 SSD, 3 power
// supply, and 2 each of chassis, IO board, CPU, memory; NIC 7; network switch or cable 35; software 54, with
// 7 watchdog time-outs of no known cause and 2 of dependencies.
constexpr std::uint64_t kGpus = 16'384;
constexpr std::uint64_t kHosts = 2'048;  // 8 GPUs each (the same paper, section 3.3.1)
constexpr Hours kSeen{54 * 24};
constexpr const char* kSource = "Llama 3 (arXiv 2407.21783), table 5";
// The fabric is taken to be 8 pods of 16 groups of 16 hosts, 8 rails, 16 spines a pod, 256 cores: 1,024
// leaves.
constexpr const char* kNetwork =
    "Llama 3 (arXiv 2407.21783), table 5: 35 of switches and cables together; how they divide is a guess";

using Law = RepairLaw;

ClassRates seen(PartClass part, double events, std::uint64_t parts, std::vector<RepairTime> repair,
                const char* source, std::vector<std::string> guesses) {
  return {.part = part,
          .events = events,
          .parts = parts,
          .time = kSeen,
          .repair = std::move(repair),
          .source = source,
          .guesses = std::move(guesses)};
}

}  // namespace

Rates published_rates() {
  // No operator has published how long a host is away; these times give about 5 hosts at a time.
  const std::vector<RepairTime> at_host{{Law::exponential, Hours(4), 0, 0.5},
                                        {Law::exponential, Hours(28), 0, 0.5}};
  const std::vector<RepairTime> cable{{Law::log_normal, Hours(4), 1.0, 1}};
  Rates rates{.origin = "published", .is_own = false, .classes = {}};
  rates.classes = {
      seen(PartClass::gpu, 268, kGpus, at_host, kSource, {"repair"}),
      seen(PartClass::host, 46, kHosts, at_host, kSource, {"repair"}),
      seen(PartClass::nic, 7, kGpus, at_host, kSource, {"repair"}),
      seen(PartClass::host_cable, 18, kGpus, cable, kNetwork, {"events", "repair"}),
      seen(PartClass::switch_cable, 9, 18'432, cable, kNetwork, {"events", "parts", "repair"}),
      seen(PartClass::leaf, 6, 1024, {{Law::exponential, Hours(4), 0, 1}}, kNetwork,
           {"events", "parts", "repair"}),
      seen(PartClass::spine, 2, 128, {{Law::exponential, Hours(8), 0, 1}}, kNetwork,
           {"events", "parts", "repair"}),
      seen(PartClass::core, 0, 256, {{Law::exponential, Hours(8), 0, 1}}, kNetwork,
           {"events", "parts", "repair"}),
      seen(PartClass::software, 63, kGpus, {{Law::fixed, Hours(0), 0, 1}}, kSource, {}),
  };
  return rates;
}

}  // namespace weft::files
