#include "probes/engine/dpdk/dpdk_arguments.hpp"

#include <gmock/gmock.h>

namespace weft::dpdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DpdkArguments parsed(std::string_view text) {
  auto arguments = parse_dpdk_arguments(text);
  EXPECT_TRUE(arguments) << arguments.error().message;
  return arguments ? *arguments : DpdkArguments{};
}

std::string refusal(std::string_view text) {
  const auto arguments = parse_dpdk_arguments(text);
  EXPECT_FALSE(arguments) << text;
  if (arguments) return {};
  EXPECT_EQ(arguments.error().kind, ErrorKind::usage);
  return arguments.error().message;
}

std::string settings_of(std::string_view text, std::size_t mtu) {
  const auto device = device_for(parsed(text), "p1");
  const auto sized = device ? sized_for(*device, mtu) : Result<SizedDevice>(pass_on(device));
  return sized ? sized->settings : sized.error().message;
}

TEST(DpdkArguments, SeparateWhatStartsDpdkFromItsDevices) {
  const auto arguments =
      parsed("--no-huge  -m 96 --vdev=net_af_packet0,iface=p1 --vdev net_af_packet1,iface=p2");
  EXPECT_THAT(arguments.start, ElementsAre("--no-huge", "-m", "96"));
  ASSERT_EQ(arguments.devices.size(), 2u);
  EXPECT_EQ(arguments.devices[1].driver, "net_af_packet") << "weft numbers its devices itself";
  EXPECT_THAT(parsed("").devices, IsEmpty());
  EXPECT_TRUE(parse_dpdk_arguments(kUsualArguments));
}

TEST(DpdkArguments, OfOtherKindsAreRefusedByName) {
  EXPECT_THAT(refusal("--no-huge -d /tmp/evil.so"), HasSubstr("'-d' is no option that weft passes on"));
  EXPECT_THAT(refusal("--help"), HasSubstr("--help"));
  EXPECT_THAT(refusal("-a 0000:18:00.0"), HasSubstr("'-a'"));
  EXPECT_THAT(refusal("--vdev"), HasSubstr("--vdev needs a value"));
  EXPECT_THAT(refusal("--no-huge=1"), HasSubstr("takes no value"));
  EXPECT_THAT(refusal("--vdev=net_pcap0,iface=p1"), HasSubstr("no device 'net_pcap0'"));
  EXPECT_THAT(refusal("--vdev=net_af_packet0,frames=1"), HasSubstr("framecnt"));
  EXPECT_THAT(refusal("--vdev=net_af_packet0,iface="), HasSubstr("iface="));
  EXPECT_THAT(refusal("--vdev=net_af_packet0,iface=a,iface=b"), HasSubstr("said twice"));
  EXPECT_THAT(refusal("--\x1b[31m"), HasSubstr("\\x1b"));
  EXPECT_THAT(refusal(std::string(5000, 'x')), HasSubstr("5000 characters"));
}

TEST(DpdkArguments, AnInterfaceHasItsOwnDeviceOrThatForAll) {
  const auto both = parsed("--vdev=net_af_packet0,iface={interface},qpairs=2 --vdev=net_af_packet1,iface=p1");
  EXPECT_THAT(device_for(both, "p1")->settings, ElementsAre(std::pair("iface", "p1")));
  EXPECT_THAT(device_for(both, "p2")->settings,
              ElementsAre(std::pair("iface", "p2"), std::pair("qpairs", "2")));
  const auto none = device_for(parsed("--vdev=net_af_packet0,iface=p1"), "p2");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no device for p2"));
}

TEST(DpdkArguments, ARingHoldsWholeFramesOfTheMtu) {
  EXPECT_EQ(settings_of(kUsualArguments, 1500),
            "iface=p1,framesz=2048,blocksz=4096,framecnt=4096,qdisc_bypass=0");
  EXPECT_EQ(settings_of(kUsualArguments, 4200),
            "iface=p1,framesz=6144,blocksz=61440,framecnt=1700,qdisc_bypass=0");
  EXPECT_EQ(settings_of(kUsualArguments, 9000),
            "iface=p1,framesz=10240,blocksz=61440,framecnt=1020,qdisc_bypass=0");
  EXPECT_EQ(settings_of(kUsualArguments, 32'000),
            "iface=p1,framesz=32768,blocksz=32768,framecnt=320,qdisc_bypass=0");
  EXPECT_THAT(settings_of(kUsualArguments, 65535), HasSubstr("DPDK's buffers hold an MTU of 32670 at most"));
}

TEST(DpdkArguments, ARingIsNoLargerThanMayBeLocked) {
  const auto device = *device_for(parsed(kUsualArguments), "p1");
  EXPECT_EQ(sized_for(device, 1500)->rings, std::size_t{16} << 20);
  EXPECT_EQ(sized_for(device, 1500, 1 << 20)->rings, std::size_t{2} << 20);
  const auto given = *device_for(parsed("--vdev=net_af_packet0,iface=p1,framecnt=4096,qpairs=2"), "p1");
  EXPECT_EQ(sized_for(given, 1500, 1 << 20)->rings, std::size_t{32} << 20);
}

TEST(DpdkArguments, ARingIsWholeBlocksWhateverIsAskedFor) {
  EXPECT_EQ(settings_of("--vdev=net_af_packet0,iface=p1,framecnt=1000", 9000),
            "iface=p1,framesz=10240,blocksz=61440,framecnt=996,qdisc_bypass=0");
}

TEST(DpdkArguments, SizesThatAreGivenStayAndThoseThatCannotBeAreRefused) {
  EXPECT_EQ(settings_of("--vdev=net_af_packet0,iface=p1,framecnt=512,qdisc_bypass=1", 1500),
            "iface=p1,qdisc_bypass=1,framesz=2048,blocksz=4096,framecnt=512");
  EXPECT_THAT(settings_of("--vdev=net_af_packet0,iface=p1,framesz=2048", 4200),
              HasSubstr("framesz=2048 holds no frame of MTU 4200: give 6144"));
  EXPECT_THAT(settings_of("--vdev=net_af_packet0,iface=p1,framecnt=0", 1500), HasSubstr("framecnt=0"));
  EXPECT_THAT(settings_of("--vdev=net_af_packet0,iface=p1,framecnt=99999999999999999999", 1500),
              HasSubstr("framecnt="));
  EXPECT_THAT(settings_of("--vdev=net_af_packet0,iface=p1,blocksz=6144", 1500), HasSubstr("blocksz=6144"));
  EXPECT_THAT(settings_of("--vdev=net_af_packet0,iface=p1,qpairs=9", 1500), HasSubstr("expected 1 to 8"));
}

}  // namespace
}  // namespace weft::dpdk
