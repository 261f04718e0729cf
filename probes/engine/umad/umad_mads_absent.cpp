#include "probes/engine/umad/umad_mads.hpp"

namespace weft::umad {

Result<std::unique_ptr<mad::Mads>> open_umad(const UmadPort&) {
  return fail(ErrorKind::not_supported,
              "this weft was built without libibumad: install libibumad-dev and build again");
}

}  // namespace weft::umad
