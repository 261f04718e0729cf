// The document of a whole sweep without load that found nothing, as a value to spoil.
#pragma once

#include <algorithm>

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
  document.run.sent = 1000;
  document.run.timings = {{"map", 2s}, {"probe", 1500ms}};
  return document;
}

/// With the verdict of the run as what is in it makes it.
inline files::DiagnosisDocument as_written(files::DiagnosisDocument document) {
  const auto worsen = [&](const auto& findings) {
    for (const auto& finding : findings) document.verdict = std::max(document.verdict, finding.verdict);
  };
  worsen(document.links), worsen(document.hosts), worsen(document.groups), worsen(document.sets);
  worsen(document.fabric_wide);
  return document;
}

}  // namespace weft
