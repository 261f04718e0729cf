#include "cli/commands.hpp"
#include "cli/compose.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/lab_session.hpp"
#include "cli/options.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/sweep_infiniband.hpp"
#include "topology/lab/ib_lab.hpp"

namespace weft {
namespace {

constexpr const char* kExamples =
    "  weft sweep --lab                       the lab named 'default', loaded in full\n"
    "  weft sweep --lab=mine --load none -o json\n"
    "  weft sweep --lab --budget 60s --save diagnosis.json\n";

int sweep_lab(const po::variables_map& values, const SweepOptions& options) {
  const auto lab = open_lab_for_run(values["lab"].as<std::string>());
  if (!lab) return report(lab.error());
  const Interrupt interrupt;
  const Fabric fabric = lab->fabric_as_built();
  const auto secrets = new_run_secrets();
  Sweep sweep(fabric, lab->addresses().book, options, secrets.run);
  ProgressLine progress;
  const auto done = run_in_lab(
      *lab, sweep, secrets, {}, [&](const Progress& p) { progress.show(p); }, interrupt.token());
  if (interrupt.happened()) return kExitInterrupted;
  if (!done) return report(done.error());
  return answer(values, fabric, sweep, progress);
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionParser parser(
      "weft sweep --lab[=NAME] [options]",
      "Maps every path of a fabric, probes every link in both directions, and names what is not healthy.",
      kExamples);
  parser.options().add_options()(
      "lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
      "the lab to sweep (see weft lab)")("engine",
                                         po::value<std::string>()->value_name("NAME")->default_value("auto"),
                                         "how packets are sent: auto or raw");
  add_sweep_options(parser.options(), "full");
  add_answer_options(parser.options());
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  if (const auto json = wants_json(*values); !json) return report(json.error());
  if (const auto engine = (*values)["engine"].as<std::string>(); engine != "auto" && engine != "raw")
    return report({ErrorKind::not_supported,
                   fmt::format("--engine {}: not supported by this build; there is: raw", engine)});
  if (!values->count("lab"))
    return report({ErrorKind::usage, "nothing to sweep: give --lab=NAME\ntry: weft sweep --help"});
  const auto options = read_sweep_options(*values, false);
  if (!options) return report(options.error());
  if (const auto name = (*values)["lab"].as<std::string>(); ib_lab_exists(name, ib_lab_root())) {
    Arguments words{"sweep"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return sweep_infiniband_lab(*values, *options, name, words);
  }
  return sweep_lab(*values, *options);
}

}  // namespace weft
