// What all connections to a NATS server share: how they prove who they are, and what is said of one that was
// refused. Only for the adapters of this folder.
#pragma once

#include <string>

#include "collectors/bus/nats_bus.hpp"

struct __natsOptions;  // NOLINT: the library's own name

namespace weft::bus {

/// Ends an object of the library with this function of it.
template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

/// Error: invalid_input (a key or certificate that is none).
Result<void> use_login(__natsOptions* options, const BusCredential& credential);

/// Of a status of the library (natsStatus). Permission: the server refuses the credential. Absent: all else.
tl::unexpected<Error> refused_by(const NatsAddress& address, int status);

/// A connection that was there is so no longer.
tl::unexpected<Error> connection_lost();

}  // namespace weft::bus
