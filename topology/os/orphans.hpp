// Orphans: while it lives, what a child of this process leaves behind becomes a child of this process
// (PR_SET_CHILD_SUBREAPER), be it in a session of its own; so it can be found and ended. One at a time in a
// process; not for programs that start other children meanwhile.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace weft::os {

class Orphans {
 public:
  Orphans();  // children that there are now are none
  ~Orphans();
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  /// Kills those that run, and what they leave behind in turn; the names of their programs. Ends within two
  /// seconds. Call it when the child itself has been waited for.
  std::vector<std::string> end();

 private:
  std::set<pid_t> known_;
  int was_reaper_ = 0;
};

}  // namespace weft::os
