// The directory by which the processes of jobs on this host and who gives them labels know of each other:
// the files `labels` of each job, and a file of each process (balancer/steer). Others may write there, so
// nothing in it is believed, followed or waited for. A process that is killed leaves its file: it is known by
// the lock that the process held, which also tells across pid namespaces. Of processes of other hosts that
// share the directory nothing is known, and their files are left alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "balancer/steer/label_list.hpp"
#include "topology/base/result.hpp"

namespace weft::run {

/// By which a process tells of itself.
struct ProcessFile {
  std::filesystem::path path;
  bool has_ended = false;  // the process, which was one of this host: this is what it told last
};

/// Those of a directory (*.qps), or the file itself: by name, and then those of ended processes, the latest
/// first. `is_asked`: somebody says that it is there; else none are there where it is not. Errors:
/// permission, invalid_input (more that live than a host has).
Result<std::vector<ProcessFile>> process_files(const std::string& place, bool is_asked);

/// Removes the files of this host's ended processes that are of this user, or of anybody where it is root.
/// What cannot be removed stays.
void remove_ended(const std::string& directory);

/// The number of the newest list that is there, or in force in a process that lives and would take a list of
/// this user; 0: there is none. No clock decides which is the later one. Errors: those of process_files;
/// permission (a process whose list cannot be read).
Result<std::uint64_t> newest_list(const std::string& directory);

/// For all processes of the list's job, or any, whose user is this one, or any where this one is root. Of
/// steer::kMaxLabelFiles and more the oldest goes. Errors: those of encode_labels and os::write_whole_file.
Result<void> write_labels(const std::string& directory, const steer::LabelList& list);

}  // namespace weft::run
