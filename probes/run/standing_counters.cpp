#include "probes/run/standing_counters.hpp"

#include <net/if.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <utility>

#include "probes/nic/nic_lookup.hpp"
#include "topology/host/nic_reader.hpp"
#include "topology/os/clocks.hpp"

namespace weft::run {
namespace {

std::string this_boot() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

}  // namespace

ReadCounters counters_of_nics(std::vector<session::NicReport> nics, std::string sys, WarmestGpu gpu) {
  return [nics = std::move(nics), sys = std::move(sys), gpu = std::move(gpu)](bool with_modules,
                                                                              const std::stop_token& stop) {
    std::vector<counters::NicAt> read;
    for (const session::NicReport& nic : nics) {
      if (stop.stop_requested()) break;
      auto name = nic.interface;
      const auto address = to_string(nic.address);
      if (name == address) name = nic::interface_with(nic.address).value_or("");
      if (if_nametoindex(name.c_str()) == 0) continue;
      const auto at = os::wall_now();
      read.push_back({at, address, host::read_nic(sys, name, with_modules, stop)});
    }
    // Behind the NICs: a driver that hangs keeps nothing of them back but this.
    if (const auto celsius = gpu && with_modules && !stop.stop_requested() ? gpu() : std::nullopt)
      for (counters::NicAt& nic : read) nic.reading.temperatures.gpu = celsius;
    return read;
  };
}

StandingCounters::StandingCounters(ReadCounters read, CounterTiming timing, std::string version)
    : read_(std::move(read)),
      timing_(timing),
      version_(std::move(version)),
      thread_([this](const std::stop_token& stop) { go_round(stop); }) {}

std::optional<std::string> StandingCounters::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, std::nullopt);
}

void StandingCounters::give_back(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!waiting_) waiting_ = std::move(text);
}

void StandingCounters::report_again() {
  const std::lock_guard lock(mutex_);
  if (!waiting_) waiting_ = last_;
}

void StandingCounters::go_round(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto boot = this_boot();
  counters::ReportedOfHost told;
  std::optional<Clock::time_point> told_at;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any over;
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const bool is_due = !told_at || now - *told_at >= timing_.told;
    const auto read = read_(is_due, stop);
    // One that was broken off is none; where no NIC is there, nothing can be told.
    if (stop.stop_requested()) return;
    if (told.changes(read) || is_due) {
      if (is_due) told_at = now;
      if (!read.empty()) {
        const std::lock_guard waiting(mutex_);
        waiting_ = last_ = counters::host_text(boot, read, version_);
      }
    }
    over.wait_for(lock, stop, timing_.read, [] { return false; });
  }
}

}  // namespace weft::run
