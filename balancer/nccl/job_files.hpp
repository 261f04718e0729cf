// The files by which a job's process and an agent of its host know of each other, in a directory of the job's
// user: `labels` and `labels.JOB`, what all processes of any job or of one are told on this host, and
// HOST-BOOT-NAMESPACE-PID.qps, what one process tells, with room for labels of its own. They are read and
// written by calls and not mapped: whoever cuts a mapped file short kills the job. Any call here may hang
// (NFS): none is made with a lock held, nor by a thread of the job.
#pragma once

#include <chrono>
#include <string>

#include "balancer/steer/process_qps.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::nccl {

/// HOST-BOOT-NAMESPACE-PID: what no other process is called that may see the directory, of this host or
/// another.
std::string process_stem();

class JobFiles {
 public:
  /// Makes the directory and the process's file; where that fails the process is not seen, and reads labels
  /// still. `job`: whose lists it takes.
  JobFiles(std::string directory, const std::string& job);
  ~JobFiles() = default;
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  /// The good list of the highest generation above `in_force`; absent: there is none. A bad list hides no
  /// good one.
  std::optional<steer::LabelList> read_labels(std::uint64_t in_force);
  /// Why a list that is there is not in force: what it is, that its file is of another user or may be written
  /// by others, that it is of another job or too old. Empty: there is no such list.
  std::string note() const;
  /// Holding a lock on its file from the first call on, by which others know that the process lives, in
  /// whatever pid namespace they are. A file that somebody has removed is made anew.
  void write(steer::ProcessQps process);
  /// At the end of a process that ends by itself; a file that is another's by now stays.
  void remove() const;

 private:
  struct Source {
    std::string path;
    std::vector<std::byte> header;         // as last read; empty: there is no list
    std::optional<steer::LabelList> list;  // the good one
    std::string note;
  };
  void make_own();
  void hold_lock();
  void look_at(Source& source, const os::FileDescriptor& file, std::size_t at);
  Result<steer::LabelList> read_list(const os::FileDescriptor& file, std::size_t at,
                                     const std::string& path) const;

  std::string directory_;
  std::string job_;
  std::string own_path_;
  os::FileDescriptor own_;
  bool holds_lock_ = false;
  std::chrono::steady_clock::time_point lock_next_;
  Source for_us_;             // in the process's own file
  std::vector<Source> told_;  // of any job, and of this one
};

/// Of this machine, as processes in this container see it.
std::string host_name();

}  // namespace weft::nccl
