// The answer to dlvsym by its own name, for what puts it into a library's slot.
#pragma once

extern "C" void* weft_dlvsym(void* handle, const char* name, const char* version) noexcept;
