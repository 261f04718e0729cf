// `weft lab`: fabrics in network namespaces of this machine. One function for each of its words.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& lab_words();
int lab_command(const Arguments& arguments);

OptionParser lab_up_options();
int lab_up_command(const Arguments& arguments);
OptionParser lab_down_options();
int lab_down_command(const Arguments& arguments);
OptionParser lab_status_options();
int lab_status_command(const Arguments& arguments);
OptionParser lab_fault_options();
int lab_fault_command(const Arguments& arguments);
OptionParser lab_heal_options();
int lab_heal_command(const Arguments& arguments);
OptionParser lab_exec_options();
int lab_exec_command(const Arguments& arguments);

}  // namespace weft::cli
