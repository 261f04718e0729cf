// `weft trace --fields`: which fields of a packet move its path between two NICs.
#pragma once

#include "cli/trace_words.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/findings/field_finding.hpp"

namespace weft::cli {

/// In a lab, live by agents, or in a simulation; the exit status: unknown where a field's answer is.
int try_fields_lab(const po::variables_map& values, const TraceWords& words);
int try_fields_cluster(const po::variables_map& values, const TraceWords& words,
                       const files::FabricFile& file);
int try_fields_simulated(const TraceWords& words, const files::FabricFile& file);

/// Says on stderr what a file tells of its switches, where that is of weight for who goes by paths of probes:
/// `where` it stands.
void note_hashed(const std::vector<PacketField>& hashed, std::string_view where);
void note_hashed(const std::optional<FieldFindings>& fields, std::string_view where);

}  // namespace weft::cli
