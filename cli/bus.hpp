// `weft bus`: the message server that standing agents and watchers share.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& bus_words();
int bus_command(const Arguments& arguments);
OptionParser bus_init_options();
int bus_init_command(const Arguments& arguments);
OptionParser bus_add_options();
int bus_add_command(const Arguments& arguments);
OptionParser bus_renew_options();
int bus_renew_command(const Arguments& arguments);
OptionParser bus_drop_options();
int bus_drop_command(const Arguments& arguments);

}  // namespace weft::cli
