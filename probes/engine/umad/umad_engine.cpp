#include "probes/engine/umad/umad_engine.hpp"

#include <sodium.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "probes/mad/mad_prober.hpp"

namespace weft::umad {
namespace {

constexpr auto kGiveWay = std::chrono::microseconds(200);
constexpr auto kServe = std::chrono::milliseconds(2);  // how long a call waits for the responder

class UmadEngine : public datapath::ProbeEngine {
 public:
  UmadEngine(std::unique_ptr<mad::Mads> mads, const packet::RunSecrets& secrets, PortId own)
      : mads_(std::move(mads)),
        prober_(*mads_, secrets, own),
        responder_([this](std::stop_token stop) { answer(stop); }) {}

  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
    return fail(ErrorKind::not_supported, "InfiniBand paths are read from the switches, not traced");
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request,
                                                std::stop_token stop) override {
    const Turn turn(*this);
    return prober_.ping(request, std::move(stop));
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override {
    const Turn turn(*this);
    return prober_.received(batch);
  }

 private:
  /// The lock, ahead of the responder: it would take a mutex again and again before anyone who waits for it.
  class Turn {
   public:
    explicit Turn(UmadEngine& engine) : engine_(engine) {
      ++engine_.waiting_;
      engine_.mutex_.lock();
      --engine_.waiting_;
    }
    ~Turn() { engine_.mutex_.unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    UmadEngine& engine_;
  };

  void answer(std::stop_token stop) {
    while (!stop.stop_requested()) {
      {
        const std::lock_guard lock(mutex_);
        if (!prober_.serve(kServe)) return;  // the device is gone: pings say so
      }
      while (waiting_ > 0 && !stop.stop_requested()) std::this_thread::sleep_for(kGiveWay);
    }
  }

  std::unique_ptr<mad::Mads> mads_;
  std::mutex mutex_;  // prober_ and mads_
  std::atomic<int> waiting_ = 0;
  mad::MadProber prober_;
  std::jthread responder_;
};

}  // namespace

Result<std::unique_ptr<datapath::ProbeEngine>> open_umad_engine(const UmadPort& port,
                                                                const packet::RunSecrets& secrets, PortId own,
                                                                const OpenMads& open) {
  if (sodium_init() < 0) return fail(ErrorKind::internal, "libsodium does not start");
  UmadPort answering = port;
  answering.answers = {mad::MadClass::probe};
  WEFT_TRY(auto mads, open(answering));
  return std::make_unique<UmadEngine>(std::move(mads), secrets, own);
}

}  // namespace weft::umad
