// Whether an address or a name is this host's own: what goes there crosses no network. Pure.
#pragma once

#include <string>

namespace weft::web {

/// 127.0.0.0/8, ::1 and localhost. A name that only begins like such an address (127.0.0.1.example.com) is
/// another's.
bool is_loopback(const std::string& address);

}  // namespace weft::web
