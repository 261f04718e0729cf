// Network namespaces kept by files, as `ip netns` keeps them, and visits to them. What changes the namespace
// changes it for the calling thread only.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "topology/os/child_process.hpp"

namespace weft::os {

/// The calling thread is in another network namespace for the life of the object.
class NamespaceVisit {
 public:
  static Result<NamespaceVisit> enter(const std::filesystem::path& file);
  NamespaceVisit(NamespaceVisit&&) = default;
  NamespaceVisit& operator=(NamespaceVisit&&) = delete;
  ~NamespaceVisit();

 private:
  explicit NamespaceVisit(FileDescriptor home) : home_(std::move(home)) {}
  FileDescriptor home_;
};

/// Moves the calling thread, and what it starts from then on, for good.
Result<void> enter_for_good(const std::filesystem::path& file);

/// Makes `directory` fit to hold namespaces' files: a mount of its own whose changes reach other views of it,
/// so that a namespace taken away here is taken away everywhere.
Result<void> prepare_namespace_directory(const std::filesystem::path& directory);

struct NewNamespace {
  std::filesystem::path file;
  std::function<Result<void>()> set_up;  // run inside, while it is still bare
};
/// Makes namespaces in order; stops at the first error. Errors: conflict (the file is there already),
/// permission.
Result<void> create_namespaces(const std::vector<NewNamespace>& all);

/// Takes the file away; the namespace itself ends with its last process. False: there was none.
Result<bool> remove_namespace(const std::filesystem::path& file);

/// Writes below /proc/sys of the calling thread's namespace.
Result<void> write_sysctl(const std::string& path, const std::string& value);

}  // namespace weft::os
