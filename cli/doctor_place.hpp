// Whom `weft doctor` asks and how: the hosts of a list, of a fabric file, of a lab, or this one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "probes/diagnosis/host/doctor.hpp"
#include "probes/run/ask_hosts.hpp"
#include "probes/run/way_back.hpp"
#include "topology/lab/netns/lab.hpp"

namespace weft::cli {

struct DoctorPlace {
  std::vector<std::string> hosts;
  diagnosis::DoctorExpectations expectations;
  std::optional<run::WayBack> way_back = std::nullopt;
  std::vector<std::string> notes = {};
  std::optional<lab::Lab> lab = std::nullopt;  // what `ask` starts programs in
  run::AskHost ask = {};                       // absent: in the lab
  std::optional<run::AskTree> tree = std::nullopt;
};

/// --hosts, --fabric, --lab, --launcher, --fan-out, --listen, --agent-program.
void add_doctor_place_options(OptionParser& parser);

/// Where --hosts, --fabric or --lab is given. Errors: usage, or what keeps this machine from asking.
Result<DoctorPlace> read_doctor_place(const po::variables_map& values);

/// The question to one of its hosts, as `weft doctor-report` reads it.
std::vector<std::string> question_words(const DoctorPlace& place, std::size_t host);

/// A second question, once the hosts told their NICs: which of these paths between NICs carry packets.
std::vector<std::string> path_question_words(const DoctorPlace& place,
                                             const std::vector<diagnosis::NicsToTry>& tries);

}  // namespace weft::cli
