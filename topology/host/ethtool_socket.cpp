#include "topology/host/ethtool_socket.hpp"

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "topology/host/netlink_socket.hpp"

namespace weft::host {
namespace {

constexpr std::size_t kAnswerSize = 65'536;
constexpr std::uint32_t kMaxStatistics = 16'384;
// The kernel writes as many values as the driver has when it is asked, which may have become more.
constexpr std::uint32_t kRoom = 1'024;

NetlinkQuestion generic(std::uint16_t family, std::uint8_t command, std::uint8_t version) {
  const genlmsghdr header{.cmd = command, .version = version, .reserved = 0};
  return {family, std::as_bytes(std::span(&header, 1))};
}

/// Only attributes, to stand in another one or behind others.
NetlinkQuestion loose() { return {0, {}}; }

Result<std::vector<std::byte>> converse(const os::FileDescriptor& socket, ByteSpan question) {
  // What came too late for an earlier question is no answer to this one.
  std::vector<std::byte> answer(kAnswerSize);
  while (::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0) {
  }
  if (::send(socket.get(), question.data(), question.size(), 0) < 0)
    return fail(ErrorKind::absent, "the kernel cannot be asked: {}", std::strerror(errno));
  const auto size = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (size < 0) return fail(ErrorKind::timeout, "the kernel does not answer: {}", std::strerror(errno));
  answer.resize(static_cast<std::size_t>(size));
  return answer;
}

Result<void> check_name(const std::string& interface) {
  if (!interface.empty() && interface.size() < IFNAMSIZ) return {};
  return fail(ErrorKind::not_found, "'{}' is no name of an interface", interface);
}

}  // namespace

Result<EthtoolSocket> EthtoolSocket::open() {
  WEFT_TRY(auto socket, open_netlink(NETLINK_GENERIC));
  EthtoolSocket opened(std::move(socket));
  auto question = generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
  question.text(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
  WEFT_TRY(const auto answer, converse(opened.socket_, question.finish()));
  const auto family = decode_family(answer);
  if (!family)
    return fail(ErrorKind::absent, "the kernel has no netlink family of ethtool: {}", family.error().message);
  opened.family_ = *family;
  return opened;
}

Result<std::vector<std::byte>> EthtoolSocket::ask(std::uint8_t command, const std::string& interface,
                                                  std::uint32_t flags, ByteSpan more) {
  WEFT_TRY_VOID(check_name(interface));
  auto header = loose();
  header.text(ETHTOOL_A_HEADER_DEV_NAME, interface);
  header.number(ETHTOOL_A_HEADER_FLAGS, flags);
  auto question = generic(family_, command, ETHTOOL_GENL_VERSION);
  // Every request has its header as attribute 1 but that for statistics, which passes its own.
  const int place = command == ETHTOOL_MSG_STATS_GET ? ETHTOOL_A_STATS_HEADER : 1;
  question.attribute(place | NLA_F_NESTED, header.attributes(0));
  auto bytes = question.finish();
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  whole.insert(whole.end(), more.begin(), more.end());
  const auto size = static_cast<std::uint32_t>(whole.size());
  std::memcpy(whole.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
  return converse(socket_, whole);
}

Result<FecAnswer> EthtoolSocket::fec(const std::string& interface) {
  WEFT_TRY(const auto answer, ask(ETHTOOL_MSG_FEC_GET, interface, ETHTOOL_FLAG_STATS));
  return decode_fec(answer);
}

Result<NamedCounts> EthtoolSocket::pause(const std::string& interface) {
  WEFT_TRY(const auto answer, ask(ETHTOOL_MSG_PAUSE_GET, interface, ETHTOOL_FLAG_STATS));
  return decode_pause(answer);
}

Result<NamedCounts> EthtoolSocket::statistics(const std::string& interface) {
  constexpr std::uint32_t kGroups =
      1U << ETHTOOL_STATS_ETH_PHY | 1U << ETHTOOL_STATS_ETH_MAC | 1U << ETHTOOL_STATS_ETH_CTRL;
  auto set = loose();
  set.attribute(ETHTOOL_A_BITSET_NOMASK, {});
  set.number(ETHTOOL_A_BITSET_SIZE, std::uint32_t{__ETHTOOL_STATS_CNT});
  set.number(ETHTOOL_A_BITSET_VALUE, kGroups);
  auto more = loose();
  more.attribute(ETHTOOL_A_STATS_GROUPS | NLA_F_NESTED, set.attributes(0));
  WEFT_TRY(const auto answer, ask(ETHTOOL_MSG_STATS_GET, interface, 0, more.attributes(0)));
  WEFT_TRY(auto counts, decode_statistics(answer));
  if (counts.empty()) return fail(ErrorKind::not_supported, "the driver does not tell");
  return counts;
}

Result<std::vector<std::byte>> EthtoolSocket::half_page(const std::string& interface, const HalfPage& at) {
  auto more = loose();
  more.number(ETHTOOL_A_MODULE_EEPROM_OFFSET, std::uint32_t{at.offset});
  more.number(ETHTOOL_A_MODULE_EEPROM_LENGTH, std::uint32_t{kHalfPage});
  more.number(ETHTOOL_A_MODULE_EEPROM_PAGE, at.page);
  more.number(ETHTOOL_A_MODULE_EEPROM_BANK, std::uint8_t{0});
  more.number(ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, at.i2c);
  WEFT_TRY(const auto answer, ask(ETHTOOL_MSG_MODULE_EEPROM_GET, interface, 0, more.attributes(0)));
  return decode_eeprom(answer);
}

Result<NamedCounts> link_statistics(const std::string& interface) {
  WEFT_TRY_VOID(check_name(interface));
  WEFT_TRY(const auto socket, open_netlink(NETLINK_ROUTE));
  const ifinfomsg body{};
  NetlinkQuestion question(RTM_GETLINK, std::as_bytes(std::span(&body, 1)));
  question.text(IFLA_IFNAME, interface);
  WEFT_TRY(const auto answer, converse(socket, question.finish()));
  return decode_link(answer);
}

namespace {

/// One ioctl over a structure of linux/ethtool.h that `bytes` begins with.
Result<void> ethtool_ioctl(const os::FileDescriptor& socket, const std::string& interface,
                           MutableByteSpan bytes, const char* what) {
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  request.ifr_data = reinterpret_cast<char*>(bytes.data());
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) == 0) return {};
  const int number = errno;
  if (number == EOPNOTSUPP) return fail(ErrorKind::not_supported, "the driver does not tell");
  if (number == EPERM) return fail(ErrorKind::permission, "needs CAP_NET_ADMIN");
  return fail(number == ENODEV ? ErrorKind::not_found : ErrorKind::absent, "{}: {}", what,
              std::strerror(number));
}

}  // namespace

Result<NamedCounts> driver_statistics(const std::string& interface) {
  WEFT_TRY_VOID(check_name(interface));
  const os::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(ErrorKind::absent, "no socket: {}", std::strerror(errno));
  constexpr std::size_t kWords = sizeof(ethtool_sset_info) / 4;
  std::array<std::uint32_t, kWords + 1> info{ETHTOOL_GSSET_INFO, 0, 1U << ETH_SS_STATS, 0};
  WEFT_TRY_VOID(
      ethtool_ioctl(socket, interface, std::as_writable_bytes(std::span(info)), "ETHTOOL_GSSET_INFO"));
  // The mask that comes back says for which sets a number stands behind it.
  const std::uint32_t count = info[2] != 0 ? info[kWords] : 0;
  if (count == 0) return fail(ErrorKind::not_supported, "the driver does not tell");
  if (count > kMaxStatistics) return fail(ErrorKind::absent, "the driver names {} counters", count);
  const std::size_t room = std::size_t{count} * 2 + kRoom;

  std::vector<std::byte> names(sizeof(ethtool_gstrings) + room * ETH_GSTRING_LEN);
  const ethtool_gstrings strings{.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
  std::memcpy(names.data(), &strings, sizeof strings);
  WEFT_TRY_VOID(ethtool_ioctl(socket, interface, names, "ETHTOOL_GSTRINGS"));

  std::vector<std::byte> values(sizeof(ethtool_stats) + room * 8);
  const ethtool_stats wanted{.cmd = ETHTOOL_GSTATS, .n_stats = count};
  std::memcpy(values.data(), &wanted, sizeof wanted);
  WEFT_TRY_VOID(ethtool_ioctl(socket, interface, values, "ETHTOOL_GSTATS"));

  ethtool_gstrings named{};
  ethtool_stats valued{};
  std::memcpy(&named, names.data(), sizeof named);
  std::memcpy(&valued, values.data(), sizeof valued);
  if (named.len != valued.n_stats || named.len > room)
    return fail(ErrorKind::absent, "the driver's counters changed while they were read");
  std::vector<std::uint64_t> counts(named.len);
  std::memcpy(counts.data(), values.data() + sizeof valued, counts.size() * 8);
  return named_statistics(ByteSpan(names).subspan(sizeof named, named.len * ETH_GSTRING_LEN), counts);
}

}  // namespace weft::host
