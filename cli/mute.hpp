// `weft mute`: suppresses the alerts of a watcher for links and nodes, for a time.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& mute_words();
int mute_command(const Arguments& arguments);

OptionParser mute_add_options();
OptionParser mute_list_options();
OptionParser mute_remove_options();
int mute_add_command(const Arguments& arguments);
int mute_list_command(const Arguments& arguments);
int mute_remove_command(const Arguments& arguments);

}  // namespace weft::cli
