// The work of a task and the answer to it as JSON. Part of messages_json; throws json_members::BadField.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "probes/session/messages.hpp"

namespace weft::session {

nlohmann::json to_json_value(const TaskWork& work);
nlohmann::json to_json_value(const TaskAnswer& answer);
TaskWork work_from_json(const nlohmann::json& value);
TaskAnswer answer_from_json(const nlohmann::json& value);

}  // namespace weft::session
