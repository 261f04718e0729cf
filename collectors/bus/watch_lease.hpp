// The lease and the shared values of watchers, over a key-value bucket that compares and sets.
#pragma once

#include <memory>
#include <string>

#include "collectors/bus/kept_connection.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

/// A holder writes a new revision with each renewal; another takes over when it has seen one revision for
/// `time_to_live` of its own steady clock. `subject`: where the bucket keeps it.
std::unique_ptr<watch::Lease> make_lease(std::shared_ptr<KeptConnection> connection, std::string subject,
                                         Nanoseconds time_to_live);
/// Under `prefix`; keys are written as tokens of a subject.
std::unique_ptr<watch::SharedValue> make_shared_value(std::shared_ptr<KeptConnection> connection,
                                                      std::string prefix);

}  // namespace weft::bus
