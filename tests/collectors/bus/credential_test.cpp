#include "collectors/bus/nats_bus.hpp"

#include <gtest/gtest.h>

namespace weft::bus {
namespace {

TEST(Credential, ALoginIsOneLineAndComesBackWhole) {
  const BusCredential login = BusLogin{"host1", "0123", "-----BEGIN\nlines\n-----END\n"};
  const auto line = credential_line(login);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(read_credential(line), login);
}

TEST(Credential, ATokenIsTheLineItself) {
  for (const std::string token : {"", "sesame", "{", "{}", "{\"user\":1,\"password\":2,\"certificate\":3}"}) {
    EXPECT_EQ(read_credential(token), BusCredential(token));
    EXPECT_EQ(credential_line(token), token);
  }
}

}  // namespace
}  // namespace weft::bus
