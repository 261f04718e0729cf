#include "cli/commands.hpp"

int main(int argc, char** argv) { return weft::run_command_line(argc, argv); }
