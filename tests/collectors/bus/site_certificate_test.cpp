#include "collectors/bus/site_certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/bus/run_certificate.hpp"

namespace weft::bus {
namespace {

using testing::HasSubstr;

/// One that signs itself.
SiteCertificate signed_by_itself(const std::string& server) {
  const auto made = make_certificate_of(server);
  EXPECT_TRUE(made) << made.error().message;
  return {made->certificate, made->certificate, made->key};
}

std::string trouble_of(const SiteCertificate& given) {
  const auto name = server_name_of(given);
  if (name) return "it is " + *name;
  EXPECT_EQ(name.error().kind, ErrorKind::invalid_input);
  return name.error().message;
}

TEST(SiteCertificate, TheServerIsKnownByTheNameOfItsCertificate) {
  const auto name = server_name_of(signed_by_itself("bus.example.org"));
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(*name, "bus.example.org");
}

TEST(SiteCertificate, TextThatHoldsNoCertificateIsRefusedByWhichFileItIs) {
  auto given = signed_by_itself("bus.example.org");
  const auto good = given.authority;
  given.authority = "";
  EXPECT_THAT(trouble_of(given), HasSubstr("authority's file holds no certificate"));
  given.authority = good;
  given.certificate = given.key;
  EXPECT_THAT(trouble_of(given), HasSubstr("certificate's file holds no certificate"));
}

TEST(SiteCertificate, AKeyThatIsNoneOrOfAnotherCertificateIsRefused) {
  auto given = signed_by_itself("bus.example.org");
  given.key = signed_by_itself("bus.example.org").key;
  EXPECT_THAT(trouble_of(given), HasSubstr("of another certificate"));
  given.key = "-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n";
  EXPECT_THAT(trouble_of(given), HasSubstr("no private key"));
}

TEST(SiteCertificate, OneThatTheAuthorityDidNotSignIsRefusedForAgentsWouldNotBelieveIt) {
  auto given = signed_by_itself("bus.example.org");
  given.authority = signed_by_itself("other.example.org").certificate;
  EXPECT_THAT(trouble_of(given), HasSubstr("agents would not believe this certificate"));
}

TEST(SiteCertificate, APatternIsNoNameOfAServer) {
  EXPECT_THAT(trouble_of(signed_by_itself("*.example.org")), HasSubstr("no DNS name"));
}

}  // namespace
}  // namespace weft::bus
