// `weft lab`: fabrics in network namespaces of this machine. One function for each of its words.
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

int lab_command(const Arguments& arguments);

int lab_up_command(const Arguments& arguments);
int lab_down_command(const Arguments& arguments);
int lab_status_command(const Arguments& arguments);
int lab_fault_command(const Arguments& arguments);
int lab_heal_command(const Arguments& arguments);
int lab_exec_command(const Arguments& arguments);

}  // namespace weft::cli
