// The document of a whole sweep without load that found nothing, as a value to spoil.
#pragma once

#include "topology/files/diagnosis_document.hpp"

namespace weft {

inline files::DiagnosisDocument clean_document(const Fabric& fabric) {
  using namespace std::chrono_literals;
  files::DiagnosisDocument document;
  document.fabric = fabric.name();
  document.verdict = Verdict::healthy;
  document.stamp.generated_at = UtcTime(std::chrono::seconds(1'800'000'000));
  document.coverage.channels = document.coverage.probed = fabric.channel_count();
  document.sensitivity = {.loss = 0.002, .delay = 100us, .rate = std::nullopt, .size = std::nullopt};
  document.run.timings = {{"map", 2s}, {"probe", 1500ms}};
  return document;
}

}  // namespace weft
