// What a host answers to the doctor: whatever reads must write to something that reads to the same, and be
// judged beside a host that answers alike without harm.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/diagnosis/host/doctor.hpp"
#include "topology/files/host_facts_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kOurs = 5;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(weft::diagnosis::why_silent(127, text));
  if (weft::diagnosis::telling_line(127, text).find('\n') != std::string_view::npos) std::abort();
  const auto facts = weft::files::read_host_facts(text, kOurs);
  if (!facts) return 0;
  const bool whole = facts->protocol == kOurs;
  if (whole && weft::files::read_host_facts(weft::files::host_facts_text(*facts), kOurs) != *facts)
    std::abort();
  weft::HostFacts other = *facts;
  other.identity += "x";
  other.inventory.gpus.clear();
  const auto report =
      weft::diagnosis::examine({{.name = "a", .report = *facts}, {.name = "b", .report = other}},
                               {.protocol = kOurs, .coordinator = "10.0.0.1:1"});
  for (const auto& finding : report.findings)
    if (finding.remedy.empty() || finding.hosts.empty()) std::abort();
  return 0;
}
