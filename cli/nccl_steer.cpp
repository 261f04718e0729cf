// `weft nccl steer`: the labels of an assignment, to the processes of a job on this host.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

#include "balancer/assign/assignment_reader.hpp"
#include "balancer/steer/process_qps.hpp"
#include "cli/balance_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/hashed_note.hpp"
#include "cli/nccl.hpp"
#include "cli/nccl_site.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/private_file.hpp"

namespace weft::cli {
namespace {

/// Far above what steps of one reach, and below what forged bytes may say.
constexpr std::uint64_t kMaxGeneration = ~std::uint64_t{0} >> 1U;
constexpr Bytes kMaxAssignment(std::int64_t{1} << 30);
/// Of a flow: an assignment is read without them, and all its queue pairs count alike.
constexpr std::int64_t kAnyBytes = 1'000'000;
constexpr std::uint32_t kMaxUnicastLid = 0xBFFF;  // IBTA vol. 1, 4.1.3
constexpr std::uint8_t kMaxLmc = 7;               // of its three bits

/// Between two NICs the label of each queue pair: of who sends, or of who answers.
using LabelsByQp = std::map<std::uint32_t, std::optional<PathLabel>>;
using Phases = std::vector<std::vector<assign::KeptQp>>;
using PairKey = std::tuple<PortId, PortId, steer::Role>;  // own, peer

std::map<PairKey, LabelsByQp> labels_of(const Phases& phases) {
  std::map<PairKey, LabelsByQp> pairs;
  // A job has the same queue pairs in all phases: the first that gives one a label counts.
  for (const auto& phase : phases)
    for (const auto& qp : phase) {
      pairs[{qp.src, qp.dst, steer::Role::sends}].emplace(qp.qp, qp.label);
      if (qp.reverse && qp.reverse->label)
        pairs[{qp.dst, qp.src, steer::Role::answers}].emplace(qp.qp, qp.reverse->label);
    }
  return pairs;
}

/// Absent: one of them has none.
std::optional<std::vector<PathLabel>> all_labels(const LabelsByQp& by_qp) {
  std::vector<PathLabel> labels;
  for (const auto& [qp, label] : by_qp) {
    if (!label || qp != labels.size()) return std::nullopt;
    labels.push_back(*label);
  }
  return labels;
}

/// How a job knows a NIC's port, and on InfiniBand its LIDs.
class JobAddresses {
 public:
  static Result<JobAddresses> make(const files::FabricFile& file, const PathMap* paths) {
    JobAddresses made(file.fabric);
    WEFT_TRY(made.book_, addresses_of(file));
    if (file.fabric.kind() != FabricKind::infiniband) return made;
    if (paths == nullptr)
      return fail(ErrorKind::usage, "--paths MAP is missing: of InfiniBand it tells the LIDs of each port");
    for (const PairPaths& pair : paths->pairs)
      for (const LabelledPath& path : pair.paths)
        for (const PathLabel label : path.labels)
          if (label.value() <= kMaxUnicastLid)
            made.add_lid(pair.dst, static_cast<std::uint16_t>(label.value()));
    return made;
  }

  Result<steer::Gid> gid_of(PortId nic) const {
    if (fabric_->kind() == FabricKind::infiniband) {
      if (const auto guid = fabric_->port(nic).guid) return steer::gid_of(gid_address(*guid));
    } else if (const auto address = book_.address_of(nic)) {
      return steer::gid_of(*address);
    }
    return fail(ErrorKind::invalid_input, "the fabric file has no {} of {}: queue pairs are found by it",
                fabric_->kind() == FabricKind::infiniband ? "GUID" : "address", fabric_->name_of_nic(nic));
  }
  /// Absent: RoCE, or a port of which the map has no LID.
  std::optional<LidRange> lids_of(PortId nic) const {
    const auto found = lids_.find(nic);
    return found == lids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  explicit JobAddresses(const Fabric& fabric) : fabric_(&fabric) {}
  /// The least range that has all of them: the low bits of a base LID are 0 (IBTA vol. 1, 7.11.1).
  void add_lid(PortId nic, std::uint16_t lid) {
    LidRange& range = lids_.try_emplace(nic, LidRange{Lid(lid), 0}).first->second;
    while (!range.contains(Lid(lid)) && range.lmc < kMaxLmc) {
      ++range.lmc;
      range.base = Lid(static_cast<std::uint16_t>(range.base.value() & ~(range.count() - 1)));
    }
  }

  const Fabric* fabric_;
  AddressBook book_;
  std::map<PortId, LidRange> lids_;
};

Result<steer::LabelList> make_list(const files::FabricFile& file, const PathMap* paths,
                                   const Phases& phases) {
  WEFT_TRY(const auto addresses, JobAddresses::make(file, paths));
  steer::LabelList list{.pairs = {}, .written = os::wall_now()};
  std::size_t without = 0;
  for (const auto& [key, by_qp] : labels_of(phases)) {
    auto labels = all_labels(by_qp);
    if (!labels) {
      ++without;
      continue;
    }
    const auto& [own, peer, role] = key;
    WEFT_TRY(const auto own_gid, addresses.gid_of(own));
    WEFT_TRY(const auto peer_gid, addresses.gid_of(peer));
    list.pairs.push_back({own_gid, peer_gid, addresses.lids_of(peer), role, std::move(*labels)});
  }
  if (list.pairs.empty())
    return fail(ErrorKind::invalid_input,
                "the assignment has labels for no pair of NICs: make it with weft balance --paths MAP");
  if (without > 0)
    print_stderr("weft: {} pairs of NICs are left to the device: some of their queue pairs have no label\n",
                 without);
  return list;
}

/// Above every list that is there, or in force in a process: no clock decides which is the later one.
Result<std::uint64_t> next_generation(const std::string& directory) {
  std::uint64_t last = 0;
  const auto note = [&](std::string_view bytes, std::size_t at) {
    if (bytes.size() <= at) return;
    const auto generation = steer::peek_generation(std::as_bytes(std::span(bytes.substr(at))));
    last = std::max(last, generation.value_or(0));
  };
  if (const auto labels = files::read_text_file(directory + "/labels", kMaxProcessFile)) note(*labels, 0);
  WEFT_TRY(const auto paths, process_files(directory, false));
  for (const auto& path : paths) {
    const auto bytes = files::read_text_file(path, kMaxProcessFile);
    if (!bytes) continue;  // it has ended
    note(*bytes, steer::kLabelsAt);
    if (const auto process = steer::decode_qps(std::as_bytes(std::span(*bytes))))
      last = std::max(last, process->generation);
  }
  if (last >= kMaxGeneration)
    return fail(ErrorKind::invalid_input,
                "{}: a list there has number {}: none can be above it; remove the file of that list",
                outside_text(directory), last);
  return last + 1;
}

/// As the option says, or as the processes of the job that this runs within call it. Empty: of any job.
std::string job_of(const po::variables_map& values) {
  if (const auto named = text_option(values, "job")) return *named;
  for (const char* name : steer::kJobVariables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

/// The assignment after what a blacklist says: queue pairs over its links take other paths of the map, the
/// others stay where that balances as well.
Result<Phases> without_blacklisted(const Fabric& fabric, const Phases& phases, const PathMap& paths,
                                   const std::string& blacklist) {
  WEFT_TRY(const auto avoided, read_avoided(fabric, blacklist));
  for (const std::string& unknown : avoided.unknown) print_stderr("weft: {}: {}\n", blacklist, unknown);
  Phases changed;
  for (const auto& phase : phases) {
    // An assignment has as many queue pairs of each flow.
    std::map<std::pair<PortId, PortId>, std::uint32_t> counts;
    bool has_reverse = false;
    for (const auto& qp : phase)
      ++counts[{qp.src, qp.dst}], has_reverse = has_reverse || qp.reverse.has_value();
    demand::Phase wanted;
    for (const auto& [ends, count] : counts) {
      if (count != counts.begin()->second)
        return fail(ErrorKind::not_supported,
                    "the flows of the assignment have different numbers of queue pairs: make it anew by weft "
                    "balance --previous and --avoid");
      wanted.flows.push_back({ends.first, ends.second, Bytes(kAnyBytes)});
    }
    if (counts.empty()) continue;
    const assign::AssignOptions options{
        .qps = counts.begin()->second, .avoid = avoided.channels, .paths = &paths, .reverse = has_reverse};
    const auto answer = assign::reassign(fabric, wanted, options, phase);
    if (!answer.unassigned.empty())
      return fail(ErrorKind::invalid_input,
                  "{}: {} flows have no path that the map knows and the blacklist allows: nothing is changed",
                  blacklist, answer.unassigned.size());
    changed.push_back(kept(wanted, answer));
  }
  return changed;
}

Result<void> steer_job(const po::variables_map& values) {
  const auto path = text_option(values, "assignment");
  const auto fabric_path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which assignment? expected a file of weft balance -o json");
  if (!fabric_path) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric of the assignment");
  WEFT_TRY(const auto file, load_fabric_file(*fabric_path));
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxAssignment));
  WEFT_TRY(auto phases, assign::parse_assignment(file.fabric, text, outside_text(*path)));
  std::optional<PathMap> paths;
  if (const auto map_path = text_option(values, "paths")) {
    WEFT_TRY(const auto map_text, files::read_text_file(*map_path, kMaxAssignment));
    WEFT_TRY(auto document, files::parse_path_map_document(file.fabric, map_text, outside_text(*map_path)));
    note_hashed(document.fields, outside_text(*map_path));
    paths = std::move(document.map);
  }
  if (const auto blacklist = text_option(values, "blacklist")) {
    if (!paths)
      return fail(ErrorKind::usage, "--blacklist {}: it needs --paths MAP, by whose labels links are avoided",
                  *blacklist);
    WEFT_TRY(phases, without_blacklisted(file.fabric, phases, *paths, *blacklist));
  }
  WEFT_TRY(auto list, make_list(file, paths ? &*paths : nullptr, phases));
  const auto directory = nccl_directory(values, "dir");
  WEFT_TRY(list.generation, next_generation(directory));
  list.job = job_of(values);
  WEFT_TRY(const auto bytes, steer::encode_labels(list));
  mkdir(directory.c_str(), S_IRWXU);  // where it is not there
  // Of root, for a job of another user: it is no secret.
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  WEFT_TRY_VOID(os::write_whole_file(directory + "/labels", content, os::kReadByAll, os::Existing::replaced));
  print_wrapped(fmt::format("{} pairs of NICs have their labels in {}: list {}{}", list.pairs.size(),
                            outside_text(directory), list.generation,
                            list.job.empty() ? "" : ", of job " + outside_text(list.job)));
  return {};
}

}  // namespace

OptionParser nccl_steer_options() {
  OptionParser parser(
      "weft nccl steer ASSIGNMENT.json --fabric FABRIC.yaml [--blacklist FILE --paths MAP] [--dir DIR]",
      "Gives the labels of an assignment of `weft balance` to a job's processes on this "
      "host: those that start "
      "take them, and the\nqueue pairs of those that run move while they live. Run it as the "
      "job's user or as root.",
      "  weft balance --fabric fabric.yaml --flows job.jsonl --paths map.json -o json > now.json &&\\\n"
      "      weft nccl steer now.json --fabric fabric.yaml --dir $PWD/job\n");
  parser.options().add_options()("assignment", po::value<std::string>()->value_name("ASSIGNMENT.json"),
                                 "of weft balance -o json")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"), "the fabric of the assignment")(
      "blacklist", po::value<std::string>()->value_name("FILE"),
      "links not to use (weft.blacklist/1 or /2): queue pairs over them take other paths of --paths, few "
      "others move")("paths", po::value<std::string>()->value_name("MAP"),
                     "the path map of the assignment; of InfiniBand it tells the LIDs")(
      "dir", po::value<std::string>()->value_name("DIR"),
      "the job's directory; without: WEFT_NCCL_DIR, else weft-nccl-UID in /dev/shm")(
      "job", po::value<std::string>()->value_name("ID"),
      "the job whose processes alone take them; without: WEFT_NCCL_JOB, SLURM_JOB_ID, PBS_JOBID or "
      "LSB_JOBID, else any");
  parser.positional("assignment", 1);
  parser.command_line_only({"assignment"});
  return parser;
}

int nccl_steer_command(const Arguments& arguments) {
  return run_command(nccl_steer_options(), arguments, steer_job);
}

}  // namespace weft::cli
