#include "cli/ledger_on_bus.hpp"

#include <condition_variable>
#include <mutex>

#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/jet_stream.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr Nanoseconds kLeaseTime = std::chrono::seconds(6);
constexpr Nanoseconds kRenewed = kLeaseTime / 3;
/// Another one that was killed keeps it so long.
constexpr Nanoseconds kWait = kLeaseTime + std::chrono::seconds(2);
constexpr auto kBetweenTries = std::chrono::milliseconds(500);

}  // namespace

Result<std::unique_ptr<LedgerOnBus>> LedgerOnBus::open(const std::string& credential,
                                                       const std::string& fabric, store::LedgerStore& copy) {
  WEFT_TRY(const auto file, bus::read_bus_file(credential));
  if (file.fabric != fabric)
    return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", credential,
                file.fabric, fabric);
  if (!file.limits)
    return fail(ErrorKind::usage, "--credential {}: it is of a host; expected that of a watcher", credential);
  WEFT_TRY(auto link,
           bus::connect_ledger_link(file.address(), file.fabric,
                                    {.name = file.name, .lease_time = kLeaseTime, .limits = *file.limits}));
  return std::unique_ptr<LedgerOnBus>(new LedgerOnBus(std::move(link), file.name, copy));
}

LedgerOnBus::LedgerOnBus(bus::LedgerLink link, std::string name, store::LedgerStore& copy)
    : link_(std::move(link)),
      name_(std::move(name)),
      ledger_(copy, *link_.log, {bus::random_id, [this] { return may_change(); }}) {}

LedgerOnBus::~LedgerOnBus() {
  if (!is_holder_) return;
  renewing_.request_stop();
  renewing_.join();
  static_cast<void>(link_.lease->release());  // else it ends by itself
}

Result<void> LedgerOnBus::may_change() {
  if (!is_holder_) return {};
  if (os::steady_now() >= held_until_.load()) is_lost_ = true;
  if (!is_lost_) return {};
  return fail(ErrorKind::conflict,
              "the lease of who applies this blacklist was lost (the bus did not answer in time, or another "
              "weft took it): nothing more is applied, the next sync goes on");
}

Result<void> LedgerOnBus::hold() {
  const auto until = os::steady_now() + kWait;
  for (;;) {
    const auto asked = os::steady_now();
    WEFT_TRY(const bool is_ours, link_.lease->hold(name_));
    if (is_ours) {
      held_until_ = asked + kLeaseTime;
      break;
    }
    if (asked > until)
      return fail(ErrorKind::conflict, "another weft is applying this blacklist: wait for its end");
    std::this_thread::sleep_for(kBetweenTries);
  }
  is_holder_ = true;
  renewing_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any stopped;
    while (!stopped.wait_for(lock, stop, kRenewed, [] { return false; }) && !stop.stop_requested()) {
      const auto asked = os::steady_now();
      const auto held = link_.lease->hold(name_);
      // Another one had it, or may have had it, in between: what was planned before is not to be made any
      // more.
      if (asked >= held_until_.load() || (held && !*held)) is_lost_ = true;
      if (is_lost_) return;
      if (held) held_until_ = asked + kLeaseTime;
    }
  });
  return {};
}

}  // namespace weft::cli
