// FakeDpdk: the module with DPDK in it, with one device: it opens it isolated or not at all, takes rules or
// refuses some, stamps frames or not, and has a clock of its own. One at a time: the module's functions know
// no object.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "probes/engine/dpdk/dpdk_library.hpp"
#include "topology/base/check.hpp"

namespace weft::fakes {

class FakeDpdk {
 public:
  FakeDpdk() {
    WEFT_CHECK(one_ == nullptr);
    one_ = this;
    library_->open = open;
    library_->close = [](WeftDpdkPort*) { --one_->open_ports; };
    library_->rule = rule;
    library_->clock = [](WeftDpdkPort*, std::uint64_t* ticks) {
      if (!one_->clock) return static_cast<int>(WEFT_DPDK_NO_DEVICE);
      *ticks = one_->clock();
      return static_cast<int>(WEFT_DPDK_DONE);
    };
  }
  FakeDpdk(const FakeDpdk&) = delete;
  FakeDpdk& operator=(const FakeDpdk&) = delete;
  ~FakeDpdk() { one_ = nullptr; }

  // What the device can.
  bool isolates = true;
  bool opens_isolated = true;
  bool opens = true;
  std::size_t validates = SIZE_MAX;  // so many rules it takes at most
  std::size_t creates = SIZE_MAX;
  std::function<std::uint64_t()> clock;

  // What was asked of it.
  std::vector<bool> opened_isolated;  // each time it opened
  std::vector<WeftDpdkRule> rules;    // of the port that is open
  int open_ports = 0;

  const dpdk::DpdkLibrary& library() const { return *library_; }

 private:
  static int refuse(WeftDpdkError* error, int kind, const char* text) {
    std::snprintf(error->text, sizeof error->text, "%s", text);
    return kind;
  }
  static int open(const WeftDpdkDevice* device, WeftDpdkPort** port, WeftDpdkAbilities* has,
                  WeftDpdkError* error) {
    *has = {};
    const bool isolated = device->isolated != 0 && one_->isolates;
    if (!one_->opens || (isolated && !one_->opens_isolated))
      return refuse(error, WEFT_DPDK_NO_DEVICE, "no queue");
    has->queues = 1;
    has->isolated = isolated ? 1 : 0;
    if (device->isolated != 0 && !isolated) refuse(&has->no_isolated, 0, "Function not implemented");
    one_->opened_isolated.push_back(isolated);
    one_->rules.clear();
    one_->validated_ = 0;
    ++one_->open_ports;
    *port = reinterpret_cast<WeftDpdkPort*>(one_);
    return WEFT_DPDK_DONE;
  }
  static int rule(WeftDpdkPort*, const WeftDpdkRule* rule, std::uint32_t apply, WeftDpdkError* error) {
    if (apply == 0 && one_->validated_++ >= one_->validates)
      return refuse(error, WEFT_DPDK_NO_RULE, "item not supported");
    if (apply != 0 && one_->rules.size() >= one_->creates)
      return refuse(error, WEFT_DPDK_NO_RULE, "no room for rules");
    if (apply != 0) one_->rules.push_back(*rule);
    return WEFT_DPDK_DONE;
  }

  inline static FakeDpdk* one_ = nullptr;
  std::shared_ptr<dpdk::DpdkLibrary> library_ = std::make_shared<dpdk::DpdkLibrary>();
  std::size_t validated_ = 0;
};

}  // namespace weft::fakes
