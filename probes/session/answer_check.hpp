// Whether what came from outside fits what was asked: a task's targets, and the figures of an answer. Pure.
// Who lies within the format is refused here, and named; nothing is cut to what it might have been.
#pragma once

#include <vector>

#include "probes/session/messages.hpp"

namespace weft::session {

/// An agent sends to NICs of its run alone. The Error names the first address that is not its NIC's.
Result<void> check_targets(const TaskWork& work, const datapath::RunNics& nics);

/// The answer is of the work's kind. The Error says which figures cannot be.
Result<void> check_answer(const TaskWork& work, const TaskAnswer& answer);

}  // namespace weft::session
