// The files by which a job's process and an agent of its host know of each other, in a directory of the job's
// user: `labels`, what all processes of the job on this host are told, and `PID.qps`, what one process tells,
// with room for labels of its own. They are read and written by calls and not mapped: whoever cuts a mapped
// file short kills the job.
#pragma once

#include <string>

#include "balancer/steer/process_qps.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::nccl {

class JobFiles {
 public:
  /// Makes the directory and the process's file; where that fails the process is not seen, and reads labels
  /// still.
  explicit JobFiles(std::string directory);
  ~JobFiles() = default;
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  /// The list of the higher generation that is above `in_force`. Absent: there is none. An error says why one
  /// is not taken: what it is, or that its file is of another user or may be written by others.
  Result<std::optional<steer::LabelList>> read_labels(std::uint64_t in_force) const;
  void write(const steer::ProcessQps& process) const;
  /// At the end of a process that ends by itself.
  void remove() const;

 private:
  std::string directory_;
  std::string own_path_;
  os::FileDescriptor own_;
};

}  // namespace weft::nccl
