// `weft nccl steer`: the labels of an assignment, to the processes of a job on this host, or with an
// operator's credential to those of all its hosts; once, or whenever a ledger's active entries change.
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "balancer/assign/assignment_reader.hpp"
#include "balancer/steer/label_list.hpp"
#include "cli/balance_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/hashed_note.hpp"
#include "cli/interrupt.hpp"
#include "cli/nccl.hpp"
#include "cli/nccl_site.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "collectors/store/ledger_store.hpp"
#include "probes/run/job_directory.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/files/time_span.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxAssignment(std::int64_t{1} << 30);
/// Of a flow: an assignment is read without them, and all its queue pairs count alike.
constexpr std::int64_t kAnyBytes = 1'000'000;
constexpr std::uint32_t kMaxUnicastLid = 0xBFFF;    // IBTA vol. 1, 4.1.3
constexpr std::uint8_t kMaxLmc = 7;                 // of its three bits
constexpr std::chrono::milliseconds kMinLook{100};  // between two looks into a ledger
constexpr std::chrono::hours kMaxLook{1};
constexpr std::chrono::minutes kAgain{1};  // after labels that not all hosts took

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

/// By the name of the host that they are for.
using PairsOfHosts = std::map<std::string, std::vector<steer::PairLabels>>;

Result<PairsOfHosts> make_pairs(const files::FabricFile& file, const PathMap* paths, const Phases& phases) {
  WEFT_TRY(const auto addresses, JobAddresses::make(file, paths));
  PairsOfHosts hosts;
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
    hosts[file.fabric.name_of(file.fabric.port(own).node)].push_back(
        {own_gid, peer_gid, addresses.lids_of(peer), role, std::move(*labels)});
  }
  if (hosts.empty())
    return fail(ErrorKind::invalid_input,
                "the assignment has labels for no pair of NICs: make it with weft balance --paths MAP");
  if (without > 0)
    print_stderr("weft: {} pairs of NICs are left to the device: some of their queue pairs have no label\n",
                 without);
  return hosts;
}

/// Above every list that is there, or in force in a process.
Result<std::uint64_t> next_generation(const std::string& directory) {
  run::remove_ended(directory);
  WEFT_TRY(const auto newest, run::newest_list(directory));
  if (newest >= steer::kMaxGeneration)
    return fail(ErrorKind::invalid_input,
                "{}: the list there has number {}: none can be above it; remove the file of that list",
                outside_text(directory), newest);
  return newest + 1;
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
                                   const assign::DocumentAvoided& avoided, const std::string& blacklist) {
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

/// To the processes of this host; they pass over the pairs of others.
Result<void> write_here(const std::string& directory, const SteeredJob& job, const PairsOfHosts& pairs,
                        steer::LabelList list) {
  for (const auto& [host, of_host] : pairs) std::ranges::copy(of_host, std::back_inserter(list.pairs));
  WEFT_TRY(list.generation, next_generation(directory));
  mkdir(directory.c_str(), S_IRWXU);  // where it is not there
  WEFT_TRY_VOID(run::write_labels(directory, list));
  if (job.json) {
    auto document = steered_document(job);
    document["directory"] = directory;
    document["list"] = list.generation;
    document["pairs"] = list.pairs.size();
    fmt::print("{}\n", files::document_line(document));
    return {};
  }
  print_wrapped(fmt::format("{} pairs of NICs have their labels in {}: list {}{}", list.pairs.size(),
                            outside_text(directory), list.generation,
                            list.job.empty() ? "" : ", of job " + outside_text(list.job)));
  return {};
}

/// What a command line asks for.
struct SteerOrder {
  files::FabricFile file;
  Phases phases;
  std::optional<PathMap> paths;
  SteeredJob job;
  std::string directory;
  std::optional<std::string> credential;
};

Result<SteerOrder> read_order(const po::variables_map& values) {
  WEFT_TRY(const bool json, wants_json(values));
  const auto path = text_option(values, "assignment");
  const auto fabric_path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which assignment? expected a file of weft balance -o json");
  if (!fabric_path) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric of the assignment");
  for (const char* option : {"blacklist", "follow"})
    if (values.count(option) && !values.count("paths"))
      return fail(ErrorKind::usage, "--{} {}: it needs --paths MAP, by whose labels links are avoided",
                  option, values[option].as<std::string>());
  if (values.count("blacklist") && values.count("follow"))
    return fail(ErrorKind::usage, "--blacklist is a file that is read once: with --follow the ledger tells");
  if (values.count("credential") && values.count("dir"))
    return fail(ErrorKind::usage,
                "--dir is of this host: with --credential the agents know their directories");
  WEFT_TRY(auto file, load_fabric_file(*fabric_path));
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxAssignment));
  WEFT_TRY(auto phases, assign::parse_assignment(file.fabric, text, outside_text(*path)));
  std::optional<PathMap> paths;
  if (const auto map_path = text_option(values, "paths")) {
    WEFT_TRY(const auto map_text, files::read_text_file(*map_path, kMaxAssignment));
    WEFT_TRY(auto document, files::parse_path_map_document(file.fabric, map_text, outside_text(*map_path)));
    note_hashed(document.fields, outside_text(*map_path));
    paths = std::move(document.map);
  }
  SteeredJob job{.fabric = file.fabric.name(), .name = job_of(values), .json = json};
  return SteerOrder{std::move(file),
                    std::move(phases),
                    std::move(paths),
                    std::move(job),
                    nccl_directory(values, "dir"),
                    text_option(values, "credential")};
}

Result<void> steer_by(const SteerOrder& order, const Phases& phases) {
  WEFT_TRY(auto pairs, make_pairs(order.file, order.paths ? &*order.paths : nullptr, phases));
  const steer::LabelList empty{.pairs = {}, .written = os::wall_now(), .job = order.job.name};
  if (!order.credential) return write_here(order.directory, order.job, pairs, empty);
  run::LabelsOfHosts labels;
  for (auto& [host, of_host] : pairs) labels.emplace(host, empty).first->second.pairs = std::move(of_host);
  return send_labels(*order.credential, order.job, labels);
}

/// What the active entries say not to use.
Result<assign::DocumentAvoided> read_ledger(const Fabric& fabric, const std::string& path) {
  WEFT_TRY(auto store, store::LedgerStore::open(path, fabric.name(), store::Database::Access::read));
  WEFT_TRY(const auto ledger, store.read());
  std::vector<blacklist::LedgerEntry> entries;
  for (const blacklist::Entry& entry : ledger.entries) entries.push_back({ledger.fabric, entry});
  return assign::avoided_by(fabric, entries);
}

/// At first, and whenever the active entries say something else, until Ctrl-C. What fails then is said, and
/// tried again after a while, or when the ledger changes.
Result<void> follow(const SteerOrder& order, const std::string& ledger, Nanoseconds look) {
  WEFT_TRY(auto avoided, read_ledger(order.file.fabric, ledger));
  const Interrupt interrupt;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::optional<std::vector<assign::Avoided>> steered;
  std::optional<Nanoseconds> again;
  for (std::string said; !interrupt.happened();) {
    const bool is_due = again && os::steady_now() >= *again;
    if (avoided.channels != steered || is_due) {
      const auto phases =
          without_blacklisted(order.file.fabric, order.phases, *order.paths, avoided, outside_text(ledger));
      const auto done =
          phases ? steer_by(order, *phases) : Result<void>(tl::unexpected<Error>(phases.error()));
      if (!done && done.error().kind == ErrorKind::usage) return done;
      steered = avoided.channels;
      again = done ? std::nullopt : std::optional(os::steady_now() + kAgain);
      if (!done) print_stderr("weft: {}\n", done.error().message);
      std::fflush(stdout);
    }
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, interrupt.token(), look, [] { return false; });
    auto read = read_ledger(order.file.fabric, ledger);
    if (read) avoided = std::move(*read);
    // Once, as long as it stays so.
    if (!read && read.error().message != said) print_stderr("weft: {}\n", read.error().message);
    said = read ? "" : read.error().message;
  }
  return {};
}

Result<void> steer_job(const po::variables_map& values) {
  WEFT_TRY(const auto order, read_order(values));
  WEFT_TRY(const auto look, read_option(values, "every", files::parse_span));
  if (look && (*look < kMinLook || *look > kMaxLook))
    return fail(ErrorKind::usage, "--every: expected {} to {}", readable(kMinLook), readable(kMaxLook));
  if (const auto ledger = text_option(values, "follow")) return follow(order, *ledger, *look);
  const auto blacklist = text_option(values, "blacklist");
  if (!blacklist) return steer_by(order, order.phases);
  WEFT_TRY(const auto avoided, read_avoided(order.file.fabric, *blacklist));
  WEFT_TRY(const auto phases,
           without_blacklisted(order.file.fabric, order.phases, *order.paths, avoided, *blacklist));
  return steer_by(order, phases);
}

}  // namespace

OptionParser nccl_steer_options() {
  OptionParser parser(
      "weft nccl steer ASSIGNMENT.json --fabric FABRIC.yaml [(--blacklist FILE | --follow LEDGER) --paths "
      "MAP] "
      "[--dir DIR | --credential FILE] [-o table|json]",
      "Gives the labels of an assignment of `weft balance` to a job's processes on this host: those that "
      "start take them, and the\nqueue pairs of those that run move while they live. Run it as the job's "
      "user or as root; or once for all hosts\nwith an operator's credential: their standing agents take the "
      "labels.",
      "  weft balance --fabric fabric.yaml --flows job.jsonl --paths map.json -o json > now.json &&\\\n"
      "      weft nccl steer now.json --fabric fabric.yaml --dir $PWD/job\n"
      "  weft nccl steer now.json --fabric fabric.yaml --job 4711 --credential operator.json\n");
  parser.options().add_options()("assignment", po::value<std::string>()->value_name("ASSIGNMENT.json"),
                                 "of weft balance -o json")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"), "the fabric of the assignment")(
      "blacklist", po::value<std::string>()->value_name("FILE"),
      "links not to use (weft.blacklist/1 or /2): queue pairs over them take other paths of --paths, few "
      "others move")(
      "follow", po::value<std::string>()->value_name("LEDGER"),
      "go on until Ctrl-C, and give labels anew whenever other links are out of use by this ledger "
      "of weft blacklist")("every", po::value<std::string>()->value_name("TIME")->default_value("5s"),
                           "with --follow: between two looks into the ledger")(
      "paths", po::value<std::string>()->value_name("MAP"),
      "the path map of the assignment; of InfiniBand it tells the LIDs")(
      "dir", po::value<std::string>()->value_name("DIR"),
      "the job's directory; without: WEFT_NCCL_DIR, else weft-nccl-UID in /dev/shm")(
      "credential", po::value<std::string>()->value_name("FILE"),
      "of an operator, a file of weft bus init: to each host of the assignment by its standing agent")(
      "job", po::value<std::string>()->value_name("ID"),
      "the job whose processes alone take them; without: WEFT_NCCL_JOB, SLURM_JOB_ID, PBS_JOBID or "
      "LSB_JOBID, else any");
  add_output_option(parser.options(Group::output));
  parser.positional("assignment", 1);
  parser.command_line_only(
      {"assignment", "credential", "follow"});  // a file may have a watcher's, for other commands
  return parser;
}

int nccl_steer_command(const Arguments& arguments) {
  return run_command(nccl_steer_options(), arguments, steer_job);
}

}  // namespace weft::cli
