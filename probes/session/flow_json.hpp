// JSON of how flows move and of what they measured, as tasks and their answers carry it. The readers throw
// BadField (json_fields.hpp).
#pragma once

#include "probes/session/json_fields.hpp"
#include "probes/wire/flow_engine.hpp"

namespace weft {

nlohmann::json manner_json(const FlowManner& manner);
FlowManner manner_from(const nlohmann::json& value);
nlohmann::json measure_json(const FlowMeasure& measure);
FlowMeasure measure_from(const nlohmann::json& value);

}  // namespace weft
