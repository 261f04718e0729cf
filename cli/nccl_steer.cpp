// `weft nccl steer`: the labels of an assignment, to the processes of a job on this host.
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "balancer/assign/assignment_reader.hpp"
#include "balancer/steer/label_list.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/options.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/private_file.hpp"
#include "topology/os/wall_clock.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxAssignment(std::int64_t{1} << 30);

/// Between two NICs the label of each queue pair: of who sends, or of who answers.
using LabelsByQp = std::map<std::uint32_t, std::optional<PathLabel>>;
using PairKey = std::tuple<PortId, PortId, steer::Role>;  // own, peer

std::map<PairKey, LabelsByQp> labels_of(const std::vector<std::vector<assign::KeptQp>>& phases) {
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

Result<steer::Gid> gid_of_nic(const Fabric& fabric, const AddressBook& addresses, PortId nic) {
  const auto address = addresses.address_of(nic);
  if (!address)
    return fail(ErrorKind::invalid_input, "the fabric file has no address of {}: queue pairs are found by it",
                fabric.name_of_nic(nic));
  return steer::gid_of(*address);
}

Result<steer::LabelList> make_list(const files::FabricFile& file,
                                   const std::vector<std::vector<assign::KeptQp>>& phases) {
  AddressBook planned = file.addresses;
  if (planned.empty()) {
    WEFT_TRY(auto plan, plan_addresses(file.fabric, file.lab.family));
    planned = std::move(plan.book);
  }
  steer::LabelList list{.generation = static_cast<std::uint64_t>(os::wall_now().count()), .pairs = {}};
  std::size_t without = 0;
  for (const auto& [key, by_qp] : labels_of(phases)) {
    auto labels = all_labels(by_qp);
    if (!labels) {
      ++without;
      continue;
    }
    const auto& [own, peer, role] = key;
    WEFT_TRY(const auto own_gid, gid_of_nic(file.fabric, planned, own));
    WEFT_TRY(const auto peer_gid, gid_of_nic(file.fabric, planned, peer));
    list.pairs.push_back({own_gid, peer_gid, std::nullopt, role, std::move(*labels)});
  }
  if (list.pairs.empty())
    return fail(ErrorKind::invalid_input,
                "the assignment has labels for no pair of NICs: make it with weft balance --paths MAP");
  if (without > 0)
    print_stderr("weft: {} pairs of NICs are left to the device: some of their queue pairs have no label\n",
                 without);
  return list;
}

Result<void> steer_job(const po::variables_map& values) {
  const auto path = text_option(values, "assignment");
  const auto fabric_path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which assignment? expected a file of weft balance -o json");
  if (!fabric_path) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric of the assignment");
  WEFT_TRY(const auto file, load_fabric_file(*fabric_path));
  if (file.fabric.kind() == FabricKind::infiniband)
    return fail(ErrorKind::not_supported, "labels of InfiniBand (DLIDs) are not given to jobs yet");
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxAssignment));
  WEFT_TRY(const auto phases, assign::parse_assignment(file.fabric, text, outside_text(*path)));
  WEFT_TRY(const auto list, make_list(file, phases));
  WEFT_TRY(const auto bytes, steer::encode_labels(list));
  const auto directory = nccl_directory(values, "dir");
  mkdir(directory.c_str(), S_IRWXU);  // where it is not there
  // Of root, for a job of another user: it is no secret.
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  WEFT_TRY_VOID(os::write_whole_file(directory + "/labels", content, os::kReadByAll, os::Existing::replaced));
  fmt::print("{} pairs of NICs have their labels in {}: list {}\n", list.pairs.size(),
             outside_text(directory), list.generation);
  return {};
}

}  // namespace

OptionParser nccl_steer_options() {
  OptionParser parser(
      "weft nccl steer ASSIGNMENT.json --fabric FABRIC.yaml [--dir DIR]",
      "Gives the labels of an assignment of `weft balance` to a job's processes on this "
      "host: those that start "
      "take them, and the\nqueue pairs of those that run move while they live. Run it as the "
      "job's user or as root.",
      "  weft balance --fabric fabric.yaml --flows job.jsonl --paths map.json -o json > now.json &&\\\n"
      "      weft nccl steer now.json --fabric fabric.yaml --dir $PWD/job\n");
  parser.options().add_options()("assignment", po::value<std::string>()->value_name("ASSIGNMENT.json"),
                                 "of weft balance -o json")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"), "the fabric of the assignment")(
      "dir", po::value<std::string>()->value_name("DIR"),
      "the job's directory; without: WEFT_NCCL_DIR, else weft-nccl-UID in /dev/shm");
  parser.positional("assignment", 1);
  parser.command_line_only({"assignment"});
  return parser;
}

int nccl_steer_command(const Arguments& arguments) {
  return run_command(nccl_steer_options(), arguments, steer_job);
}

}  // namespace weft::cli
