// `weft counters`: whether the counters of a fabric's ports are read as they should be (`check`), whose
// corrected errors rise (`degrading`), what the NICs of this host count (`nic`), who began pauses (`pauses`).
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& counters_words();
int counters_command(const Arguments& arguments);
OptionParser counters_check_options();
int counters_check_command(const Arguments& arguments);
OptionParser counters_degrading_options();
int counters_degrading_command(const Arguments& arguments);
OptionParser counters_nic_options();
int counters_nic_command(const Arguments& arguments);
OptionParser counters_pauses_options();
int counters_pauses_command(const Arguments& arguments);

}  // namespace weft::cli
