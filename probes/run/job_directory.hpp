// The directory by which the processes of jobs on this host and who gives them labels know of each other:
// the files `labels` of each job, and a file of each process (balancer/steer). Others may write there, so
// nothing in it is believed, followed or waited for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "balancer/steer/label_list.hpp"
#include "topology/base/result.hpp"

namespace weft::run {

/// By which processes tell of themselves (*.qps of a directory, by name), or the file itself. `is_asked`:
/// somebody says that it is there; else none are there where it is not. Errors: permission, invalid_input
/// (more than a host has).
Result<std::vector<std::filesystem::path>> process_files(const std::string& place, bool is_asked);

/// The number of the newest list that is there, or in force in a process that would take a list of this user;
/// 0: there is none. No clock decides which is the later one. Errors: those of process_files; permission (a
/// process whose list cannot be read).
Result<std::uint64_t> newest_list(const std::string& directory);

/// For all processes of the list's job, or any, whose user is this one, or any where this one is root. Of
/// steer::kMaxLabelFiles and more the oldest goes. Errors: those of encode_labels and os::write_whole_file.
Result<void> write_labels(const std::string& directory, const steer::LabelList& list);

}  // namespace weft::run
