// <sys/pidfd.h>, which in glibc 2.36 (Debian 12) forgets to say that its functions are C.
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
