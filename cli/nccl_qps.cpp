// `weft nccl qps`: the queue pairs of a job's processes on this host, as libweft-nccl.so tells them, and
// those of other processes, as the kernel does.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>

#include "balancer/steer/process_qps.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/nccl_kernel_qps.hpp"
#include "cli/nccl_site.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/nccl/qp_places.hpp"
#include "collectors/nccl/qp_table.hpp"
#include "probes/run/job_directory.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr int kMaxReads = 20;  // of one that its process is writing
constexpr std::chrono::milliseconds kNap{5};
constexpr Bytes kMaxProcessFile(std::int64_t{8} << 20);
/// A process tells ten times a second.
constexpr std::chrono::seconds kSilent{2};
/// Of a few jobs: they may have been left since the host booted.
constexpr std::size_t kMaxEnded = 64;

Result<steer::ProcessQps> read_process(const run::ProcessFile& of) {
  Result<steer::ProcessQps> read = fail(ErrorKind::internal, "");
  for (int turn = 0; turn < (of.has_ended ? 1 : kMaxReads) && !read; ++turn) {
    if (turn > 0) std::this_thread::sleep_for(kNap);
    WEFT_TRY(const auto bytes, files::read_text_file(of.path, kMaxProcessFile));
    read = steer::decode_qps(std::as_bytes(std::span(bytes)));
  }
  if (!read) return pass_on(read, outside_text(of.path.string()));
  return read;
}

/// What the processes of a directory tell.
struct ToldProcesses {
  std::vector<steer::ProcessQps> living;
  std::vector<steer::ProcessQps> ended;  // the latest first
  std::size_t left_out = 0;              // files of others that have ended, which were not read
  std::optional<Error> trouble;          // the last that could not be read; those before are printed
};

/// `job`: of which alone; absent: of all. What is told here is left out of the kernel's.
ToldProcesses read_processes(const std::vector<run::ProcessFile>& files,
                             const std::optional<std::string>& job, KernelQps& kernel) {
  ToldProcesses told;
  for (const auto& file : files) {
    if (file.has_ended && told.ended.size() == kMaxEnded) {
      ++told.left_out;
      continue;
    }
    auto process = read_process(file);
    if (process) {
      if (!file.has_ended) kernel.leave_out(*process, file.path);
      if (!job || process->job == *job) (file.has_ended ? told.ended : told.living).push_back(*process);
    } else if (file.has_ended) {  // killed while it wrote
      print_stderr("weft: {}: its process has ended\n", process.error().message);
    } else {
      if (told.trouble) print_stderr("weft: {}\n", told.trouble->message);
      told.trouble = process.error();
    }
  }
  return told;
}

std::string state_of(const steer::QpRecord& qp) {
  std::vector<std::string> parts;
  if (qp.failed) parts.push_back(fmt::format("failed ({} errors)", qp.errors));
  if (qp.stalled > kSilent) parts.push_back(fmt::format("stalled for {}", readable(qp.stalled)));
  if (qp.move != steer::Move::none) parts.emplace_back(to_string(qp.move));
  if (qp.moves > 1) parts.push_back(fmt::format("{} moves", qp.moves));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Without the cables of the hosts, which every path of the two has: "leaf1 spine2 leaf4".
std::string path_text(const std::vector<std::string>& channels) {
  std::string text;
  for (std::size_t i = 1; i < channels.size(); ++i)
    text += (i > 1 ? " " : "") + channels[i].substr(0, channels[i].find("->"));
  return text;
}

void print_process(const steer::ProcessQps& process, const nccl::QpTable& records, Nanoseconds now) {
  std::string line = fmt::format("process {}, {}", process.pid, process.program);
  if (process.rank) line += fmt::format(", rank {}", *process.rank);
  if (!process.host.empty()) line += fmt::format(", on {}", process.host);
  if (!process.job.empty()) line += fmt::format(", of job {}", process.job);
  line += process.generation == 0 ? ": no labels" : fmt::format(": labels of list {}", process.generation);
  if (process.generation != 0 && process.list_written.count() > 0 && now > process.list_written)
    line += fmt::format(", written {} ago", readable(now - process.list_written));
  if (records.has_ended)
    line += fmt::format("; it has ended, and told this {} ago",
                        readable(std::max(now - process.written, Nanoseconds(0))));
  else if (now - process.written > kSilent)
    line += fmt::format("; it has told nothing for {}", readable(now - process.written));
  print_wrapped(line);
  if (!process.note.empty()) print_wrapped(process.note, 2);
  if (process.left_out > 0)
    print_wrapped(fmt::format("{} more queue pairs are not seen", process.left_out), 2);
  const bool has_paths = std::ranges::any_of(records.qps, [](const auto& qp) { return !qp.path.empty(); });
  std::vector<TextColumn> columns{{"QP"}, {"TO"}, {"LABEL", true}, {"BY"}};
  if (has_paths) columns.push_back({"PATH"});
  columns.insert(columns.end(), {{"POSTED", true}, {"UNDER WAY", true}, {"STATE"}});
  TextTable table(columns);
  for (std::size_t i = 0; i < process.qps.size(); ++i) {
    const auto& qp = process.qps[i];
    const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(qp.bytes, INT64_MAX));
    std::vector<std::string> row{fmt::format("{}/{}", qp.device, qp.number.value()),
                                 fmt::format("{}/{}", steer::gid_text(qp.peer), qp.peer_number.value()),
                                 qp.label ? std::to_string(qp.label->value()) : "",
                                 std::string(to_string(qp.source))};
    if (has_paths) row.push_back(path_text(records.qps[i].path));
    row.insert(row.end(), {readable(Bytes(bytes)), std::to_string(qp.under_way), state_of(qp)});
    table.add(std::move(row));
  }
  if (!table.empty()) fmt::print("{}", table.text(terminal_columns()));
}

std::optional<IpAddress> address_of(const steer::Gid& gid) {
  const auto address = IpAddress::parse(steer::gid_text(gid));
  return address ? std::optional(*address) : std::nullopt;
}

nccl::QpRecord record_of(const steer::ProcessQps& process, const steer::QpRecord& qp) {
  nccl::QpRecord made{.pid = process.pid, .rank = process.rank, .number = qp.number};
  made.peer_number = qp.peer_number;
  made.gid = address_of(qp.own);
  made.peer_gid = address_of(qp.peer);
  made.label = qp.label;
  made.bytes = qp.bytes;
  made.outstanding = qp.under_way;
  // The first of its queue has been under way for so long at least.
  if (qp.under_way > 0) made.oldest = qp.stalled;
  made.quiet = qp.quiet;
  made.busy = qp.busy;
  made.errors = qp.errors;
  made.timeout = qp.timeout;
  made.retries = qp.retries;
  made.device = qp.device;
  made.role = to_string(qp.role);
  made.label_by = to_string(qp.source);
  made.moves = qp.moves;
  made.move = to_string(qp.move);
  return made;
}

nccl::QpTable table_of(const steer::ProcessQps& process, bool has_ended) {
  nccl::QpTable table{.host = process.host, .at = process.written, .pid = process.pid};
  table.has_ended = has_ended;
  table.job = process.job;
  table.program = process.program;
  table.list = process.generation;
  table.left_out = process.left_out;
  table.note = process.note;
  for (const auto& qp : process.qps) table.qps.push_back(record_of(process, qp));
  return table;
}

/// Behind those that processes tell.
void print_kernel_tables(std::span<const nccl::QpTable> tables, bool is_first) {
  for (const nccl::QpTable& table : tables) {
    if (!std::exchange(is_first, false)) fmt::print("\n");
    print_kernel_table(table);
  }
}

Result<void> print_qps(const po::variables_map& values, const ReadRdmaResources& read_rdma) {
  WEFT_TRY(const auto json, wants_json(values));
  WEFT_TRY(const auto site, read_job_site(values));
  const auto place = nccl_directory(values, "place");
  auto job = text_option(values, "job");
  if (job) job = steer::job_text(*job);  // as files have it
  WEFT_TRY(const auto files, run::process_files(place, values.count("place") != 0));
  auto kernel = kernel_qps_of_this_host();
  const bool is_one_file = files.size() == 1 && files.front().path == place;
  if (!is_one_file && !job) kernel.ask(read_rdma);
  auto told = read_processes(files, job, kernel);
  std::vector<nccl::QpTable> tables;
  for (const auto& process : told.living) tables.push_back(table_of(process, false));
  for (const auto& process : told.ended) tables.push_back(table_of(process, true));
  if (const auto where = site.where()) {
    const nccl::QpPlaces places(*where);
    for (nccl::QpTable& table : tables)
      for (nccl::QpRecord& qp : table.qps) qp.path = places.path_names(qp);
  }
  const auto kernels = kernel.tables(os::wall_now());
  for (const std::string& note : kernel.notes()) print_stderr("weft: {}\n", note);
  if (json) {
    tables.insert(tables.end(), kernels.begin(), kernels.end());
    fmt::print("{}", nccl::qp_tables_json(tables, stamp_now()));
  } else {
    auto& processes = told.living;
    std::ranges::move(told.ended, std::back_inserter(processes));
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (i > 0) fmt::print("\n");
      print_process(processes[i], tables[i], os::wall_now());
    }
    if (processes.empty() && !told.trouble)
      fmt::print("no process of {} tells of its queue pairs in {}\n", job ? "job " + *job : "a job",
                 outside_text(place));
    print_kernel_tables(kernels, processes.empty() && told.trouble.has_value());
  }
  if (told.left_out > 0)
    print_stderr("weft: {} older files of ended processes are not read; weft nccl steer removes them\n",
                 told.left_out);
  if (told.trouble) return tl::unexpected<Error>(*told.trouble);
  return {};
}

}  // namespace

OptionParser nccl_qps_options() {
  OptionParser parser(
      "weft nccl qps [DIR|FILE] [--job ID] [--fabric FABRIC.yaml --paths PATHS.json] [-o table|json]",
      "Prints the queue pairs of a job's processes on this host: devices, peers, labels and "
      "whose choice they "
      "are, what is posted\nand under way, and for how long nothing has completed. Of processes that were "
      "killed: what they told last; of others without the library: what the kernel lists.",
      "  weft nccl qps\n  weft nccl qps --job 4711 --fabric fabric.yaml --paths map.json -o json\n");
  parser.options().add_options()("place", po::value<std::string>()->value_name("DIR"),
                                 "the job's directory (WEFT_NCCL_DIR), or the file of one process; without: "
                                 "WEFT_NCCL_DIR, else weft-nccl-UID in /dev/shm")(
      "job", po::value<std::string>()->value_name("ID"),
      "of this job's processes alone, as WEFT_NCCL_JOB, SLURM_JOB_ID, PBS_JOBID or LSB_JOBID call it there");
  parser.positional("place", 1);
  add_fabric_options(parser.options());
  add_output_option(parser.options(Group::output));
  return parser;
}

int nccl_qps_command(const Arguments& arguments, const ReadRdmaResources& read_rdma) {
  const auto values = nccl_qps_options().parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto done = print_qps(*values, read_rdma);
  return done ? kExitHealthy : report(done.error());
}

int nccl_qps_command(const Arguments& arguments) {
  return nccl_qps_command(arguments, host::read_rdma_resources);
}

}  // namespace weft::cli
