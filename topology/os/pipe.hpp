// A pipe from which a child's output is read without waiting.
#pragma once

#include <string>

#include "topology/base/result.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::os {

struct Pipe {
  FileDescriptor read;   // never blocks
  FileDescriptor write;  // for the child: close it here once the child has started
};
Result<Pipe> open_pipe();

/// Appends what is there now, until `into` is longer than `most`; false at the end.
bool read_some(const FileDescriptor& from, std::string& into, std::size_t most);

}  // namespace weft::os
