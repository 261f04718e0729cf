// Where a loaded library keeps the address of a function that it calls in another: its slot of the global
// offset table, which the linker has filled and anybody may fill anew.
#pragma once

namespace weft::nccl {

/// The slot of `function` in the library that has `address` within. Null: it calls no such function, or keeps
/// it in a form that this does not read.
void** find_call_slot(const void* address, const char* function);

/// Also where the page is read-only (RELRO). False: it may not be written.
bool fill_call_slot(void** slot, void* function);

}  // namespace weft::nccl
