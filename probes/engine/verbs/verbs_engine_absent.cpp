#include "probes/engine/verbs/verbs_engine.hpp"

#include "probes/engine/verbs/ud_port.hpp"

namespace weft::verbs {

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(const VerbsOptions&) {
  return fail(ErrorKind::not_supported, "--engine verbs: built without libibverbs (libibverbs-dev)");
}

Result<std::unique_ptr<UdPort>> open_ud_port(const UdPortOptions&) {
  return fail(ErrorKind::not_supported, "--engine verbs: built without libibverbs (libibverbs-dev)");
}

}  // namespace weft::verbs
