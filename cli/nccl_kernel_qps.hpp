// What `weft nccl qps` shows of queue pairs that no libweft-nccl.so tells of: of direct verbs, of programs
// without the library. The kernel lists them, with the numbers of both ends and without the peer's address.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "balancer/steer/process_qps.hpp"
#include "collectors/nccl/qp_table.hpp"
#include "topology/host/rdma_resources.hpp"

namespace weft::cli {

/// host::read_rdma_resources, or what stands in its place in a test.
using ReadRdmaResources = std::function<Result<host::RdmaResources>()>;

class KernelQps {
 public:
  /// `boot`: the first characters of this kernel's boot id, as files of processes have it in their names.
  KernelQps(std::string host, std::string boot) : host_(std::move(host)), boot_(std::move(boot)) {}

  /// To be asked before the files of processes are read: what is made meanwhile is then told by its process
  /// alone. A refusal is a note.
  void ask(const ReadRdmaResources& read);
  /// Its queue pairs are left out. `file`: by whose name the process is known to be of this kernel, whatever
  /// its pid namespace and host name.
  void leave_out(const steer::ProcessQps& process, const std::filesystem::path& file);

  /// A table a process, by pid; those of no known process come last. RC and UC alone.
  std::vector<nccl::QpTable> tables(Nanoseconds now) const;
  /// For people: why the kernel was not asked, or does not tell all.
  std::vector<std::string> notes() const;

 private:
  using Place = std::pair<std::string, QpNum>;  // device and number
  bool is_told(const host::RdmaQp& qp) const;
  std::uint32_t pid_of(const std::optional<std::uint32_t>& thread) const;

  std::string host_;
  std::string boot_;
  host::RdmaResources known_;
  std::vector<std::string> notes_;
  std::set<Place> told_here_;                       // by a process of this kernel
  std::set<std::pair<std::uint32_t, Place>> told_;  // by a process of this pid
};

/// Beside `weft nccl qps DIR`: of this host.
KernelQps kernel_qps_of_this_host();

void print_kernel_table(const nccl::QpTable& table);

}  // namespace weft::cli
