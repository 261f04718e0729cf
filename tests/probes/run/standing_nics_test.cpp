#include "probes/run/standing_nics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "probes/watch/mad_codec.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A port at which nothing ever comes.
class SilentMads final : public mad::Mads {
 public:
  Result<void> send(const mad::MadPacket&) override { return {}; }
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds) override {
    return std::optional<mad::MadArrival>();
  }
  Nanoseconds now() override { return {}; }
};

struct Opener {
  OpenStandingNic standing(bool in_ibsim) { return umad_standing_nics(in_ibsim, once_in_ibsim(open())); }
  umad::OpenMads open() {
    return [this](const umad::UmadPort& port) -> Result<std::unique_ptr<mad::Mads>> {
      ports.push_back(port);
      if (is_absent) return fail(ErrorKind::absent, "no InfiniBand port of this host has the GUID");
      return std::make_unique<SilentMads>();
    };
  }
  std::vector<umad::UmadPort> ports;
  bool is_absent = false;
};

session::NicReport port_with(Guid guid) {
  const IpAddress gid = gid_address(guid);
  return {to_string(gid), gid};
}

TEST(UmadStandingNics, OpenThePortOfTheGidForItsOwnClassOfRequests) {
  Opener opener;
  const auto open = opener.standing(false);
  for (const Guid guid : {Guid(0x2c90300000011), Guid(0x2c90300000012)}) {
    const auto nic = open(port_with(guid));
    ASSERT_TRUE(nic) << nic.error().message;
    EXPECT_EQ(nic->local.address, gid_address(guid));
    EXPECT_EQ(nic->codec, &watch::mad_codec());
    EXPECT_TRUE(nic->next_hops->next_hop(gid_address(Guid(1)))) << "the label is all of the way";
    EXPECT_EQ(opener.ports.back().guid, guid);
    EXPECT_THAT(opener.ports.back().answers, ElementsAre(mad::MadClass::standing_probe));
    EXPECT_FALSE(opener.ports.back().in_ibsim);
  }
}

TEST(UmadStandingNics, SayWhatIsNotThere) {
  Opener opener;
  const auto open = opener.standing(false);
  const auto roce = open({"eth0", *IpAddress::parse("10.0.0.1")});
  ASSERT_FALSE(roce);
  EXPECT_THAT(roce.error().message, HasSubstr("10.0.0.1 is no GID of an InfiniBand port"));
  opener.is_absent = true;
  EXPECT_EQ(open(port_with(Guid(5))).error().kind, ErrorKind::absent);
}

TEST(UmadStandingNics, AreOpenedBesideRunsAsOftenAsTheyAreAskedFor) {
  Opener opener;
  const auto open = opener.standing(false);
  EXPECT_TRUE(open(port_with(Guid(5))));
  const auto run = umad_engines({port_with(Guid(5))}, false, opener.open());
  const auto engines = run({port_with(Guid(5)).interface, PortId(1)}, {}, nullptr);
  ASSERT_TRUE(engines) << engines.error().message;
  EXPECT_THAT(opener.ports.back().answers, ElementsAre(mad::MadClass::probe));
}

TEST(UmadStandingNics, InIbsimAProcessOpensOnePortOnce) {
  Opener opener;
  const auto open = opener.standing(true);
  opener.is_absent = true;
  EXPECT_FALSE(open(port_with(Guid(5))));
  opener.is_absent = false;
  EXPECT_TRUE(open(port_with(Guid(5)))) << "what failed is tried again";
  EXPECT_TRUE(opener.ports.back().in_ibsim);
  const auto again = open(port_with(Guid(5)));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("ibsim gives a process one port"));
}

}  // namespace
}  // namespace weft::run
