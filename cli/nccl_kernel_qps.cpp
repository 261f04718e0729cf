#include "cli/nccl_kernel_qps.hpp"

#include <algorithm>
#include <map>

#include "cli/terminal.hpp"
#include "cli/topology.hpp"
#include "probes/packet/roce.hpp"
#include "topology/base/text_table.hpp"
#include "topology/host/sysfs_values.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kToldName = 15;   // characters of a device's name that a process tells
constexpr std::size_t kBootDigits = 8;  // in the names of files of processes
constexpr std::size_t kMaxNamed = 4;    // processes in one note

std::string told_name(const std::string& device) { return device.substr(0, kToldName); }

/// What the device takes where the program set no flow label.
nccl::QpRecord record_of(const host::RdmaQp& qp, std::uint32_t pid, bool is_roce) {
  nccl::QpRecord made{.pid = pid, .number = qp.number};
  made.peer_number = qp.peer;
  if (qp.peer && is_roce) {
    made.label = PathLabel(packet::udp_port_of(packet::default_flow_label(qp.number, *qp.peer)).value());
    made.label_by = "rule";
  }
  made.device = qp.device;
  made.state = to_string(qp.state);
  return made;
}

}  // namespace

void KernelQps::ask(const ReadRdmaResources& read) {
  auto known = read();
  if (!known) {
    notes_.push_back("queue pairs that no library tells of are not shown: " + known.error().message);
    return;
  }
  known_ = std::move(*known);
  for (const std::string& trouble : known_.trouble)
    notes_.push_back("queue pairs that no library tells of are not shown: " + trouble);
  if (known_.told.left_out > 0)
    notes_.push_back(fmt::format("{} queue pairs more are in the kernel's list", known_.told.left_out));
}

void KernelQps::leave_out(const steer::ProcessQps& process, const std::filesystem::path& file) {
  const bool is_here =
      !boot_.empty() && file.filename().string().find("-" + boot_ + "-") != std::string::npos;
  for (const steer::QpRecord& qp : process.qps) {
    const Place place(told_name(qp.device), qp.number);
    if (is_here)
      told_here_.insert(place);
    else if (process.host == host_)
      told_.insert({process.pid, place});
  }
}

std::uint32_t KernelQps::pid_of(const std::optional<std::uint32_t>& thread) const {
  if (!thread) return 0;
  const auto found = known_.process_of.find(*thread);
  return found == known_.process_of.end() ? *thread : found->second.pid;
}

bool KernelQps::is_told(const host::RdmaQp& qp) const {
  const Place place(told_name(qp.device), qp.number);
  return told_here_.contains(place) || told_.contains({pid_of(qp.thread), place});
}

std::vector<nccl::QpTable> KernelQps::tables(Nanoseconds now) const {
  std::set<std::string> roce;
  for (const host::RdmaDevice& device : known_.told.devices)
    if (device.is_roce) roce.insert(device.name);
  std::set<std::uint32_t> with_library;
  for (const host::RdmaQp& qp : known_.told.qps)
    if (is_told(qp)) with_library.insert(pid_of(qp.thread));
  std::map<std::uint32_t, nccl::QpTable> by_pid;
  for (const host::RdmaQp& qp : known_.told.qps) {
    if (qp.type == host::RdmaQpType::other || is_told(qp)) continue;
    const std::uint32_t pid = pid_of(qp.thread);
    // Of a process that tells by the library: what is not connected yet, and NCCL's flush queue pairs, which
    // are connected with themselves.
    if (with_library.contains(pid) && (!qp.peer || *qp.peer == qp.number)) continue;
    by_pid[pid].qps.push_back(record_of(qp, pid, roce.contains(qp.device)));
  }
  std::vector<nccl::QpTable> all;
  for (auto& [pid, table] : by_pid) {
    table.host = host_, table.at = now, table.pid = pid, table.by_kernel = true;
    std::ranges::stable_sort(table.qps, {},
                             [](const nccl::QpRecord& qp) { return std::tie(qp.device, qp.number); });
    for (const auto& [thread, process] : known_.process_of)
      if (process.pid == pid) table.program = process.program;
    all.push_back(std::move(table));
  }
  if (!all.empty() && all.front().pid == 0) std::ranges::rotate(all, all.begin() + 1);
  return all;
}

std::vector<std::string> KernelQps::notes() const {
  auto all = notes_;
  std::set<std::uint32_t> with_qps;
  for (const host::RdmaQp& qp : known_.told.qps) with_qps.insert(pid_of(qp.thread));
  std::map<std::uint32_t, std::string> without;
  for (const host::RdmaUser& user : known_.told.users) {
    const auto found = known_.process_of.find(user.thread);
    if (found != known_.process_of.end() && !with_qps.contains(found->second.pid))
      without[found->second.pid] = found->second.program;
  }
  if (without.empty() || with_qps.contains(0)) return all;
  std::vector<std::string> named;
  for (const auto& [pid, program] : without)
    if (named.size() < kMaxNamed) named.push_back(fmt::format("{} {}", pid, program));
  if (without.size() > named.size()) named.push_back(fmt::format("{} more", without.size() - named.size()));
  all.push_back(fmt::format(
      "{} process{} with an RDMA device open {} no queue pairs in the kernel's list ({}): those that "
      "a program makes by DEVX, as UCX by rc_mlx5, stand in none",
      without.size(), without.size() == 1 ? "" : "es", without.size() == 1 ? "has" : "have",
      fmt::join(named, ", ")));
  return all;
}

KernelQps kernel_qps_of_this_host() {
  const auto boot = host::sysfs_line("/proc/sys/kernel/random/boot_id");
  return {this_hosts_name(), boot.value_or("").substr(0, kBootDigits)};
}

void print_kernel_table(const nccl::QpTable& table) {
  print_wrapped(table.pid == 0
                    ? "queue pairs in the kernel's list of processes that it does not name: of another pid "
                      "namespace, or of a thread that has ended"
                    : fmt::format("process {}{}, by the kernel's list alone", table.pid,
                                  table.program.empty() ? "" : ", " + table.program));
  TextTable rows({{"QP"}, {"TO"}, {"LABEL", true}, {"BY"}, {"STATE"}});
  for (const nccl::QpRecord& qp : table.qps)
    rows.add({fmt::format("{}/{}", qp.device, qp.number.value()),
              qp.peer_number ? fmt::format("-/{}", qp.peer_number->value()) : "-",
              qp.label ? std::to_string(qp.label->value()) : "-", qp.label_by.empty() ? "-" : qp.label_by,
              qp.state});
  fmt::print("{}", rows.text(terminal_columns()));
}

}  // namespace weft::cli
