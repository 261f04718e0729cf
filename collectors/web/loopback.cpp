#include "collectors/web/loopback.hpp"

#include <arpa/inet.h>

namespace weft::web {

bool is_loopback(const std::string& address) {
  in_addr number{};
  if (::inet_pton(AF_INET, address.c_str(), &number) == 1) return (ntohl(number.s_addr) >> 24) == 127;
  return address == "::1" || address == "localhost";
}

}  // namespace weft::web
