// `weft plan rates`: a file of rates, of what was published or of what a watcher saw.
#include <array>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/stamp.hpp"
#include "topology/files/rates.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples = "  weft plan rates --published > rates.json        # to be edited\n";

constexpr std::array<Command, 1> kWords{{
    {"rates", "how often what fails: published, or as a watcher saw it", plan_rates_command,
     plan_rates_options},
}};

Result<void> print_rates(const po::variables_map& values) {
  if (!values.count("published"))
    return fail(ErrorKind::usage, "which rates? --published prints those that were published");
  fmt::print("{}", files::rates_text(files::published_rates(), stamp_now()));
  return {};
}

}  // namespace

const WordGroup& plan_words() {
  static const WordGroup words{"plan", "how many failures, spares and sweeps", kWords, kExamples};
  return words;
}

OptionParser plan_rates_options() {
  OptionParser parser(
      "weft plan rates --published",
      "Writes a file of rates (weft.rates/1) for weft plan: events of each class of parts and "
      "the exposure that they were seen in, repair times, and what a failure does. What nobody "
      "published is listed under guesses.",
      kExamples);
  parser.options().add_options()("published", "of Llama 3's training, with sources");
  return parser;
}

int plan_rates_command(const Arguments& arguments) {
  return run_command(plan_rates_options(), arguments, print_rates);
}

}  // namespace weft::cli
