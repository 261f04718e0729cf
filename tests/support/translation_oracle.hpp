// Demands of a ledger's entries against an oracle that knows a fabric by the names of its cables alone.
#pragma once

#include <string>

namespace weft {

struct Translations {
  int all = 0;
  int right = 0;
  std::string wrong;  // the first that was not
};
/// Every class of subject and cause, drained hosts and rails, on so many drawn fabrics.
Translations try_translations(int fabrics);

}  // namespace weft
