// The diagnosis as a document, `weft.diagnosis/1` (docs/schema/diagnosis.schema.json): names instead of ids,
// so that it can be read without its fabric. Made from a Diagnosis, or read back from JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/files/document.hpp"
#include "topology/files/flows_report.hpp"
#include "topology/files/link_reference.hpp"
#include "topology/files/queueing_report.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/findings/host_delays.hpp"
#include "topology/findings/repair.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {

struct LinkReport {
  std::string link;
  std::optional<std::string> from;    // the node that the faulty channel leaves
  std::optional<LinkReference> ends;  // absent in documents of programs that leave it out
  Verdict verdict = Verdict::unknown;
  Cause cause = Cause::loss;
  std::optional<Estimate> estimate = std::nullopt;
  double confidence = 0;
  std::vector<std::string> evidence;
  std::optional<Intermittence> intermittent = std::nullopt;
  struct Label {
    std::string src, dst;  // NICs
    PathLabel label;
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
  };
  std::vector<Label> labels = {};  // the worst first
  /// What to mend, the likeliest first, where counters and modules tell of it; and what does not tell.
  struct Repair {
    RepairCause cause = RepairCause::dirty_connector;
    std::optional<std::string> port;  // absent: at neither end
    double probability = 0;
  };
  std::vector<Repair> repair = {};
  std::vector<std::string> repair_missing = {};
};

struct HostReport {
  std::string host;
  std::optional<std::string> nic;
  std::optional<LinkReference> ends;  // the cable of that NIC, or of the host's only one
  Verdict verdict = Verdict::unknown;
  std::optional<Cause> cause;
  std::vector<std::string> evidence;
  std::optional<std::string> from = std::nullopt;  // the node that the faulty channel of the cable leaves
  std::optional<Estimate> estimate = std::nullopt;
  std::optional<double> confidence = std::nullopt;
  std::optional<Intermittence> intermittent = std::nullopt;
};

/// One of the alternatives is true; each is channels that are all at fault then.
struct SetReport {
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  double confidence = 0;
  std::vector<std::vector<std::string>> alternatives;
  bool more = false;  // others fit as well and are left out: they were too many
};

struct GroupReport {
  std::vector<std::string> nodes;
  std::vector<std::string> channels;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  double confidence = 0;
  std::vector<std::string> evidence;
};

struct NotTestedReport {
  std::string host;
  std::optional<std::string> nic;
  std::string why;
};

struct CoverageReport {
  std::uint64_t channels = 0;
  std::uint64_t hosts = 0;  // at the ends of these; 0: an older document does not tell
  std::uint64_t probed = 0;
  std::uint64_t paths = 0;
  std::vector<std::string> missing;
  std::vector<std::string> thin;
  std::vector<std::string> unloaded;
  std::vector<std::string> rate_untested;
  std::vector<std::string> masked{};
  std::uint64_t out_of_scope = 0;
  std::optional<std::string> out_of_scope_told_by = std::nullopt;
  std::vector<std::string> in_scope{};  // empty: all, or nobody said
  std::vector<NotTestedReport> not_tested;
  std::optional<std::string> cut_short;
  std::vector<std::string> fell_short{};
  bool complete = true;
};

/// What the device of a NIC counted during the run.
struct CounterReport {
  std::string device;
  std::uint32_t port = 1;
  Nanoseconds window{};
  std::map<std::string, std::uint64_t> grew;  // counters that did
  // While the run loaded the fabric: how long pauses lasted, microseconds. 0: not told.
  Nanoseconds load_window{};
  std::map<std::string, std::uint64_t> paused = {};
};

/// What the host at a NIC added to the round trips of probes.
struct DelayReport {
  std::optional<RttQuantiles> prober;
  std::optional<RttQuantiles> responder;
  std::optional<RttQuantiles> whole;  // round trips as the program on the host sees them
  bool by_device = false;             // stamped by devices; else by the hosts' clocks
};

/// A NIC of the run.
struct NicUseReport {
  std::string nic;                  // host1, or host1/p2
  std::optional<std::string> uses;  // what its engine went by, in words
  std::optional<CounterReport> counters;
  std::optional<DelayReport> delays = std::nullopt;
};

/// What a run did, beside what it found.
/// By what the packets were sent, where the run chose.
struct EngineReport {
  std::string name;
  std::string why;
};

struct RunReport {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::vector<std::pair<std::string, Nanoseconds>> timings;  // by stage, in the order they ran
  std::vector<NicUseReport> nics = {};
  std::optional<EngineReport> engine = std::nullopt;
};

/// What ports counted on a channel that no finding names.
struct CounterNoteReport {
  std::string channel;
  double probability = 0;
  std::vector<std::string> texts;
};

struct DiagnosisDocument {
  DocumentStamp stamp;
  std::string fabric;
  FabricKind kind = FabricKind::roce;
  Verdict verdict = Verdict::unknown;
  std::vector<LinkReport> links;
  std::vector<HostReport> hosts;
  std::vector<GroupReport> groups;
  std::vector<std::vector<std::string>> ambiguous;  // channels
  std::vector<SetReport> sets;
  std::vector<FabricFinding> fabric_wide;
  std::vector<CounterNoteReport> counters;
  Account account;
  Sensitivity sensitivity;
  CoverageReport coverage;
  RunReport run;
  // Written, not read back.
  std::optional<FlowsReport> flows = std::nullopt;
  std::optional<QueueingReport> queueing = std::nullopt;
};

/// Those of its alternatives together, each once, by name.
std::vector<std::string> channels_of(const SetReport& set);
/// A group that names no node and has the cause and channels of a set (where that lists not all, at least the
/// listed ones): the set tells of it, and its evidence is that of the set.
bool is_part_of(const SetReport& set, const GroupReport& group);
/// Lists of channels that the probes cannot tell apart and of which no set and no group tells.
std::vector<std::vector<std::string>> untold_classes(const DiagnosisDocument& document);

DiagnosisDocument diagnosis_document(const Fabric& fabric, const Diagnosis& diagnosis, const RunReport& run,
                                     const DocumentStamp& stamp);

std::string diagnosis_json(const DiagnosisDocument& document);
/// Members it does not know are passed over; `what` names the document in messages.
Result<DiagnosisDocument> parse_diagnosis(std::string_view text, std::string_view what);

}  // namespace weft::files
