#include "probes/engine/umad/umad_mads.hpp"

#include <fcntl.h>
#include <infiniband/umad.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "topology/os/clocks.hpp"

namespace weft::umad {
namespace {

constexpr int kGsiQueueKey = static_cast<int>(0x80010000);  // IBTA vol. 1, 3.5.3: Q_Key of QP1
// Between 50 and 100 us by the kernel's usual timer slack; a window of 64 takes ibsim 200 us.
constexpr auto kGather = std::chrono::microseconds(50);
constexpr auto kSpin = std::chrono::microseconds(200);  // ten times a round trip over four switches
constexpr std::chrono::seconds kMaxFull{10};
constexpr int kPermissiveLid = 0xFFFF;
constexpr int kNoManagement = -EOPNOTSUPP;  // libibumad's, where sysfs has no infiniband_mad
constexpr const char* kLoadModule = "the kernel module ib_umad is not loaded (modprobe ib_umad)";

std::string errno_text(int error) { return std::strerror(error < 0 ? -error : error); }

class Adapter {
 public:
  explicit Adapter(const char* name) : is_read_(umad_get_ca(name, &ca_) == 0) {}
  ~Adapter() {
    if (is_read_) umad_release_ca(&ca_);
  }
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  /// Ports are counted from 1; null: none of this number.
  const umad_port_t* port(int number) const {
    return is_read_ && number <= ca_.numports ? ca_.ports[number] : nullptr;
  }

 private:
  umad_ca_t ca_{};
  bool is_read_;
};

/// libibumad warns on stderr by itself where it is not there.
bool is_module_loaded() {
  const int file = open("/sys/class/infiniband_mad/abi_version", O_RDONLY | O_CLOEXEC);
  if (file >= 0) close(file);
  return file >= 0;
}

/// Puts the adapter and the port with the GUID in its place. Error: what ports there are instead.
Result<UmadPort> found_by_guid(UmadPort port) {
  if (!port.guid) return port;
  char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN] = {};
  const int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
  std::string there;
  for (int i = 0; i < count; ++i) {
    const Adapter adapter(names[i]);
    for (int number = 1; number < UMAD_CA_MAX_PORTS; ++number) {
      const umad_port_t* one = adapter.port(number);
      if (one == nullptr) continue;
      if (be64toh(one->port_guid) == port.guid->value()) {
        port.device = names[i];
        port.port = static_cast<std::uint8_t>(number);
        return port;
      }
      there += fmt::format("; {} port {} is 0x{:016x}", names[i], number, be64toh(one->port_guid));
    }
  }
  return fail(ErrorKind::absent, "no InfiniBand port of this host has the GUID 0x{:016x}{}",
              port.guid->value(), there);
}

/// "; there is mlx5_0, mlx5_1".
std::string adapters() {
  char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN] = {};
  const int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
  std::string there;
  for (int i = 0; i < count; ++i) there += fmt::format("{}{}", i == 0 ? "; there is " : ", ", names[i]);
  return there;
}

/// libibumad says EIO of whatever its open(2) met, which errno still has.
int open_port(const char* device, int port) {
  errno = 0;
  const int opened = umad_open_port(device, port);
  return opened == -EIO && errno != 0 ? -errno : opened;
}

/// The socket over which libumad2sim sends to ibsim, named after the process (IBSIM_SOCKNAME:inPID,
/// abstract); -1: none.
int simulator_socket() {
  constexpr int kMaxFile = 1024;  // those from there on are the library's own devices
  const std::string wanted = fmt::format(":in{}", getpid());
  for (int file = 0; file < kMaxFile; ++file) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    if (getsockname(file, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        address.sun_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path) ||
        address.sun_path[0] != '\0')
      continue;
    const std::size_t length = size - offsetof(sockaddr_un, sun_path) - 1;
    if (std::string_view(address.sun_path + 1, strnlen(address.sun_path + 1, length)).ends_with(wanted))
      return file;
  }
  return -1;
}

/// The methods a registration takes unasked: none but SEND of our own class.
struct Methods {
  long mask[16 / sizeof(long)] = {};
};

class Umad : public mad::Mads {
 public:
  explicit Umad(int port) : port_(port), buffer_(umad_size() + mad::kMadSize) {}
  ~Umad() override {
    if (manager_ >= 0) close(manager_);
    for (const auto& [mad_class, agent] : agents_) umad_unregister(port_, agent);
    umad_close_port(port_);
  }
  Umad(const Umad&) = delete;
  Umad& operator=(const Umad&) = delete;

  Result<void> register_class(mad::MadClass mad_class, bool takes_requests) {
    Methods methods;
    if (takes_requests) methods.mask[0] = 1L << static_cast<int>(mad::MadMethod::send);
    std::uint8_t oui[3] = {};
    store_be24(std::as_writable_bytes(std::span(oui)), 0, mad::kOui);
    const int number = static_cast<int>(mad_class);
    auto* wanted = takes_requests ? methods.mask : nullptr;
    const bool is_ours = mad_class == mad::MadClass::probe || mad_class == mad::MadClass::standing_probe;
    const int agent = is_ours ? umad_register_oui(port_, number, 0, oui, wanted)
                              : umad_register(port_, number, 1, 0, wanted);
    if (agent < 0)
      return fail(ErrorKind::absent, "registering for MADs of class 0x{:x}: {}", number, errno_text(agent));
    agents_[mad_class] = agent;
    return {};
  }

  Result<void> claim_manager(const UmadPort& port) {
    std::array<char, 256> path{};
    const char* device = port.device.empty() ? nullptr : port.device.c_str();
    if (umad_get_issm_path(device, port.port, path.data(), static_cast<int>(path.size())) < 0)
      return fail(ErrorKind::absent, "no issm device beside the management device");
    manager_ = open(path.data(), O_NONBLOCK);
    if (manager_ < 0) return fail(ErrorKind::absent, "opening {}: {}", path.data(), errno_text(errno));
    return {};
  }

  Result<void> send(const mad::MadPacket& packet) override {
    const auto mad_class = static_cast<mad::MadClass>(load_u8(packet.bytes, 1));
    if (!agents_.contains(mad_class))  // a vendor's: few ask that, so it is not registered beforehand
      if (const auto done = register_class(mad_class, false); !done) return done;
    if (const auto room = await_room(); !room) return room;
    const auto agent = agents_.find(mad_class);
    std::memset(buffer_.data(), 0, buffer_.size());
    std::memcpy(umad_get_mad(buffer_.data()), packet.bytes.data(), mad::kMadSize);
    address(packet, mad_class);
    const int wait =
        static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(packet.answer_wait).count());
    const int error =
        umad_send(port_, agent->second, buffer_.data(), static_cast<int>(mad::kMadSize), wait, 0);
    if (error < 0) return fail(ErrorKind::absent, "umad_send: {}", errno_text(error));
    if (packet.answer_wait > Nanoseconds(0) && packet.is_urgent) asked_ = now();
    return {};
  }

  /// An answer comes within microseconds of its question, and going to sleep and being woken takes longer
  /// than that: so it looks again and again for kSpin, and sleeps only then.
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds at_most) override {
    for (;;) {
      auto arrival = receive_once(Nanoseconds(0));
      if (!arrival || *arrival || at_most <= Nanoseconds(0)) return arrival;
      if (now() >= asked_ + kSpin) return receive_once(at_most);
      std::this_thread::yield();
    }
  }

  /// The reader of a device, or of ibsim, gets the processor to itself meanwhile: answers that are taken as
  /// they come cost two changes of context each.
  void gather() override { std::this_thread::sleep_for(kGather); }

  Nanoseconds now() override { return os::steady_now(); }

 private:
  /// libumad2sim (ibsim 0.10) writes with its lock held, which its reader needs, and every poll(2) of the
  /// process: where ibsim waits for that reader before it reads on, a write that blocks ends all of them.
  /// ppoll(2) it leaves alone.
  Result<void> await_room() const {
    if (simulator_ < 0) return {};
    pollfd room{.fd = simulator_, .events = POLLOUT, .revents = 0};
    const timespec limit{.tv_sec = kMaxFull.count(), .tv_nsec = 0};
    if (ppoll(&room, 1, &limit, nullptr) != 0) return {};
    return fail(ErrorKind::timeout, "ibsim has taken nothing that was sent for {} s", kMaxFull.count());
  }

  Result<std::optional<mad::MadArrival>> receive_once(Nanoseconds at_most) {
    int length = static_cast<int>(mad::kMadSize);
    const int wait = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count());
    const int agent = umad_recv(port_, buffer_.data(), &length, wait);
    if (agent == -ETIMEDOUT || agent == -EWOULDBLOCK || agent == -EINTR) return std::nullopt;
    // A longer message than one MAD (RMPP): none of ours, and read off in pieces by nobody here.
    if (agent == -ENOSPC) return std::nullopt;
    if (agent < 0) return fail(ErrorKind::absent, "umad_recv: {}", errno_text(agent));
    mad::MadArrival arrival{.undelivered = umad_status(buffer_.data()) != 0,
                            .from = Lid(be16toh(umad_get_mad_addr(buffer_.data())->lid))};
    std::memcpy(arrival.bytes.data(), umad_get_mad(buffer_.data()), mad::kMadSize);
    return arrival;
  }

  void address(const mad::MadPacket& packet, mad::MadClass mad_class) {
    const bool is_smp = mad_class == mad::MadClass::subnet || mad_class == mad::MadClass::subnet_directed;
    const auto* lid = std::get_if<Lid>(&packet.to);
    umad_set_addr(buffer_.data(), lid ? lid->value() : kPermissiveLid, is_smp ? 0 : 1, 0,
                  is_smp ? 0 : kGsiQueueKey);
    umad_set_grh(buffer_.data(), nullptr);
    umad_set_pkey(buffer_.data(), 0);
  }

  int port_;
  int manager_ = -1;  // the issm device
  const int simulator_ = simulator_socket();
  std::vector<char> buffer_;
  Nanoseconds asked_{};  // when the last question left
  std::map<mad::MadClass, int> agents_;
};

}  // namespace

Result<std::unique_ptr<mad::Mads>> open_umad(const UmadPort& wanted) {
  const bool manages = is_module_loaded() && umad_init() >= 0;
  WEFT_TRY(const auto found, manages ? found_by_guid(wanted) : Result<UmadPort>(wanted));
  const UmadPort& port = found;
  const char* device = port.device.empty() ? nullptr : port.device.c_str();
  const int opened = manages ? open_port(device, port.port) : kNoManagement;
  if (opened == -EACCES || opened == -EPERM)
    return fail(ErrorKind::permission,
                "opening the InfiniBand management device: {}: run as root, or give this user the right to "
                "/dev/infiniband/umad*",
                errno_text(opened));
  if (opened < 0)
    return fail(ErrorKind::absent, "no InfiniBand management device{}: {}",
                port.device.empty() ? "" : " for " + port.device,
                opened == kNoManagement ? kLoadModule : errno_text(opened) + adapters());
  auto umad = std::make_unique<Umad>(opened);
  for (const auto mad_class :
       {mad::MadClass::subnet, mad::MadClass::subnet_directed, mad::MadClass::performance})
    WEFT_TRY_VOID(umad->register_class(mad_class, false));
  for (const auto mad_class : port.answers) WEFT_TRY_VOID(umad->register_class(mad_class, true));
  if (port.in_ibsim) WEFT_TRY_VOID(umad->claim_manager(port));
  return umad;
}

}  // namespace weft::umad
