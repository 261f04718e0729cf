// The findings of a diagnosis document as entries of one list for people, whatever they are about: what hurts
// most stands first, and hosts of which the same is said stand together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/report/remedy.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::report {

struct Entry {
  std::string what;  // "leaf1--spine2", "leaf1->spine2" where one direction is at fault, "hosts host1, host2"
  std::string subject = {};  // the link or host alone; empty where `what` says no more
  bool is_host = false;      // or several
  std::string from = {};     // the node that the faulty direction leaves
  Verdict verdict = Verdict::unknown;
  Trouble trouble;
  std::string confidence;                  // as text; empty where none is known
  std::string estimate;                    // as text, likewise
  std::optional<double> probability = {};  // the confidence
  std::optional<Estimate> figures = {};    // the estimate
  double hurt = 0;                         // within a verdict and a cause: more is worse
  std::string ports = {};                  // of its cables; empty where it is about none
  std::vector<std::string> lines;          // the alternatives of a set, how it comes and goes
  std::vector<std::string> evidence;
};

/// For programs every host is an entry of its own.
enum class AlikeHosts { together, apart };
std::vector<Entry> entries_of(const files::DiagnosisDocument& document,
                              AlikeHosts hosts = AlikeHosts::together);

}  // namespace weft::report
