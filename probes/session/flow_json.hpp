// JSON of how flows move and of what they measured, as tasks and their answers carry it. The readers throw
// BadField (json_fields.hpp).
#pragma once

#include "probes/datapath/flow_engine.hpp"
#include "probes/session/json_fields.hpp"

namespace weft {

nlohmann::json flow_options_json(const FlowOptions& flow_options);
FlowOptions flow_options_from(const nlohmann::json& value);
nlohmann::json measure_json(const FlowMeasure& measure);
FlowMeasure measure_from(const nlohmann::json& value);

}  // namespace weft
