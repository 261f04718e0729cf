// A HostFacts as JSON and back: what `weft doctor` gets from each host (weft.host_facts/1). Reading trusts
// nothing: lengths, counts and depth are bounded, text is made harmless, and an Error names the place.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/findings/host_facts.hpp"

namespace weft::files {

/// More than any host has to say.
inline constexpr Bytes kMaxHostFacts(1'000'000);

nlohmann::json host_facts_value(const HostFacts& report);
/// The document on one line.
std::string host_facts_text(const HostFacts& report);
/// Of a host's whole output: lines before the document, as a login prints them, are passed over. Where its
/// weft speaks another protocol than `ours`, the version and the protocol are all that is read.
Result<HostFacts> read_host_facts(std::string_view output, std::uint32_t ours);

}  // namespace weft::files
