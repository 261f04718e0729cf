// Processes of the machine, known by pid and start time together, because a pid is used again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::os {

struct ProcessMark {
  pid_t pid = 0;
  std::uint64_t start = 0;  // clock ticks since boot: field 22 of /proc/PID/stat, proc(5)
  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

/// The start time from the text of /proc/PID/stat; absent where it is malformed.
std::optional<std::uint64_t> start_time_of(std::string_view stat);

std::optional<ProcessMark> mark_of(pid_t pid);
bool is_running(const ProcessMark& process);
/// Kills it and waits until it has gone. False: it was gone already, or does not go.
bool end_process(const ProcessMark& process);

/// The inode that names a namespace of a process, as /proc/PID/ns/`kind`; absent when it may not be read.
std::optional<std::uint64_t> namespace_inode(const std::filesystem::path& file);
/// Kills every process, but the caller, whose network namespace is one of these.
void end_processes_in_networks(const std::set<std::uint64_t>& inodes);
/// Kills every process, but the caller, that sees a mount at this very path. Those of other users, whose
/// mounts the caller may not read, stay.
void end_processes_with_mount(const std::filesystem::path& mount_point);

/// True when the text of a /proc/PID/mountinfo has a mount at this path, proc(5) field 5.
bool has_mount(std::string_view mountinfo, const std::filesystem::path& mount_point);

/// Starts a process that goes on after its parent, in a session of its own with none of the parent's files
/// open and the namespaces of the calling thread. There `prepare` is called and its error given back here
/// (the process then ends); after that `work`, until it returns or the process is killed.
Result<ProcessMark> start_worker(const char* name, const std::function<Result<void>()>& prepare,
                                 const std::function<void()>& work);

}  // namespace weft::os
