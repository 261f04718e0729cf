#include "probes/engine/verbs/verbs_engine.hpp"

namespace weft::verbs {

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(const VerbsOptions&) {
  return fail(ErrorKind::not_supported, "--engine verbs: built without libibverbs (libibverbs-dev)");
}

}  // namespace weft::verbs
