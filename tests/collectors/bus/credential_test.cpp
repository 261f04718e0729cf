#include "collectors/bus/nats_bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::bus {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Credential, ALoginIsOneLineAndComesBackWhole) {
  const BusCredential login = BusLogin{"host1", "0123", "-----BEGIN\nlines\n-----END\n"};
  const auto line = credential_line(login);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(read_credential(line), login);
}

TEST(Credential, ATokenIsTheLineItself) {
  for (const std::string token : {"", "sesame", " {", "[1]", "\"user\""}) {
    EXPECT_EQ(read_credential(token), BusCredential(token));
    EXPECT_EQ(credential_line(token), token);
  }
}

TEST(Credential, ALoginThatDoesNotFitIsAnErrorThatSaysWhatIsWrong) {
  const auto said = [](std::string_view line) {
    const auto read = read_credential(line);
    EXPECT_FALSE(read) << line;
    if (read) return std::string();
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_input);
    EXPECT_THAT(read.error().message, HasSubstr("as a login does"));
    EXPECT_THAT(read.error().message, Not(HasSubstr("secret"))) << "it may go into a log";
    return read.error().message;
  };
  EXPECT_THAT(said("{"), HasSubstr("no JSON"));
  EXPECT_THAT(said("{secret"), HasSubstr("no JSON"));
  EXPECT_THAT(said("{}"), HasSubstr("'user' is missing"));
  EXPECT_THAT(said(R"({"user":"a","password":"secret"})"), HasSubstr("'certificate' is missing"));
  EXPECT_THAT(said(R"({"user":1,"password":"secret","certificate":"c"})"), HasSubstr("user"));
  EXPECT_THAT(said(R"({"user":"a","password":true,"certificate":"c"})"), HasSubstr("password"));
  EXPECT_THAT(said(R"({"user":"a","password":"secret","certificate":"c","token":"secret"})"),
              HasSubstr("no login has a member 'token'"));
}

}  // namespace
}  // namespace weft::bus
