#include "balancer/nccl/profile_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include "balancer/nccl/job_files.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::nccl {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::chrono::milliseconds kRound(100);
constexpr std::chrono::milliseconds kMaxWait(200);
/// A step that waits longer than this is told while it waits; a healthy one waits microseconds to
/// milliseconds.
constexpr std::uint64_t kLongWait = 2000 * kMillisecond;

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Since 1970.
std::uint64_t wall_time(std::uint64_t at) {
  return nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC) + at;
}

template <std::size_t kSize>
std::string json_text(const std::array<char, kSize>& text) {
  return nccl::json_text(std::string_view(text.data()));
}

const char* name_of(ProxyWait wait) {
  switch (wait) {
    case ProxyWait::none:
      return "";
    case ProxyWait::gpu:
      return "gpu";
    case ProxyWait::peer:
      return "peer";
    case ProxyWait::network:
      return "network";
    case ProxyWait::data:
      return "data";
    case ProxyWait::flush:
      return "flush";
  }
  return "";
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string json;
  for (const char c : outside_text(text)) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json;
}

std::uint64_t profile_clock() noexcept { return nanoseconds(CLOCK_MONOTONIC); }

ProfileFile::ProfileFile(ProfileRecorder& recorder, std::string directory, std::string header)
    : recorder_(recorder), directory_(std::move(directory)), header_(std::move(header)) {}

void ProfileFile::start() {
  const std::lock_guard lock(control_);
  if (running_) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  running_ = pthread_create(
                 &thread, nullptr,
                 [](void* self) -> void* {
                   static_cast<ProfileFile*>(self)->run();
                   return nullptr;
                 },
                 this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running_) pthread_detach(thread);
}

void ProfileFile::run() {
  try {
    path_ = directory_ + "/" + process_stem() + ".profile";
    mkdir(directory_.c_str(), S_IRWXU);
    unlink((path_ + ".old.jsonl").c_str());  // this process's before exec, or of one before it
    reopen();
  } catch (...) {  // no memory
  }
  for (;;) {
    std::uint64_t asked = 0;
    {
      std::unique_lock lock(control_);
      if (!file_) {  // nothing is written, and nobody waits for it
        running_ = false;
        changed_.notify_all();
        return;
      }
      changed_.wait_for(lock, kRound, [this] { return asked_ > done_; });
      asked = asked_;
    }
    try {
      write_all();
    } catch (...) {  // no memory: what was taken is lost, the job goes on
      pending_.clear();
    }
    const std::lock_guard lock(control_);
    done_ = asked;
    changed_.notify_all();
  }
}

void ProfileFile::drain() {
  std::unique_lock lock(control_);
  const std::uint64_t mine = ++asked_;
  changed_.notify_all();
  changed_.wait_for(lock, kMaxWait, [&] { return done_ >= mine || !running_; });
}

void ProfileFile::reopen() {
  if (file_) rename((path_ + ".jsonl").c_str(), (path_ + ".old.jsonl").c_str());
  unlink((path_ + ".jsonl").c_str());
  file_ = os::FileDescriptor(open((path_ + ".jsonl").c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                                  S_IRUSR | S_IWUSR));
  size_ = 0;
  told_ = {};
}

void ProfileFile::write_all() {
  constexpr std::size_t kPart = 65'536;
  ProfileRecord record;
  while (recorder_.take(record)) {
    append_record(record);
    if (pending_.size() >= kPart) flush();
  }
  if (const std::uint64_t now = profile_clock(); now - last_look_ > kLongWait / 2) {
    last_look_ = now;
    append_waiting(now);
  }
  if (const auto dropped = recorder_.take_dropped(); dropped != 0)
    fmt::format_to(std::back_inserter(pending_), "{{\"dropped\":{}}}\n", dropped);
  flush();
}

/// A line for it, once a file. False: who has the place is not known any more.
bool ProfileFile::append_communicator(std::size_t place) {
  const std::uint32_t life = recorder_.communicator_life(place);
  const std::uint32_t told = told_[place];
  if (told != 0 && (life == told || life == told + 1)) return true;  // open, or just closed
  const ProfiledCommunicator* const about = recorder_.communicator(place);
  if (about == nullptr) return false;
  told_[place] = life;
  fmt::format_to(
      std::back_inserter(pending_),
      "{{\"schema\":\"weft.nccl_profile/1\",\"pid\":{},\"communicator\":\"{:016x}\",\"name\":\"{}\","
      "\"place\":{},\"rank\":{},\"ranks\":{},\"nodes\":{}{}}}\n",
      getpid(), about->id, json_text(about->name), place, about->rank, about->ranks, about->nodes, header_);
  return true;
}

void ProfileFile::append_record(const ProfileRecord& record) {
  const auto out = std::back_inserter(pending_);
  if (!append_communicator(record.communicator)) return;
  if (record.kind == ProfileRecord::Kind::collective) {
    const ProfiledCollective& of = record.collective;
    fmt::format_to(out,
                   "{{\"collective\":{},\"place\":{},\"at_ns\":{},\"function\":\"{}\",\"sequence\":{},"
                   "\"count\":{},\"type\":\"{}\",\"channels\":{}",
                   record.serial, record.communicator, wall_time(record.at), json_text(of.function),
                   of.sequence, of.count, json_text(of.type), of.channels);
    if (of.peer >= 0)
      fmt::format_to(out, ",\"peer\":{}}}\n", of.peer);
    else
      fmt::format_to(out, ",\"algorithm\":\"{}\",\"protocol\":\"{}\"}}\n", json_text(of.algorithm),
                     json_text(of.protocol));
    return;
  }
  const ProfiledOperation& of = record.operation;
  fmt::format_to(
      out,
      "{{\"operation\":{},\"place\":{},\"at_ns\":{},\"peer\":{},\"channel\":{},\"sends\":{},\"steps\":{},"
      "\"bytes\":{},\"took_ns\":{}",
      record.serial, record.communicator, wall_time(record.at), of.peer, of.channel, of.sends, of.steps,
      of.bytes, of.took);
  for (std::size_t wait = 1; wait < kProxyWaits; ++wait)
    if (of.waited[wait] != 0)
      fmt::format_to(out, ",\"{}_ns\":{}", name_of(static_cast<ProxyWait>(wait)), of.waited[wait]);
  const char* before = ",\"qps\":[";
  for (const ProfiledQp& qp : of.qps) {
    if (qp.steps == 0) break;
    fmt::format_to(out, "{}[{},{},{}]", std::exchange(before, ","), qp.number, qp.steps, qp.waited);
  }
  if (of.qps[0].steps != 0) pending_ += ']';
  pending_ += "}\n";
}

void ProfileFile::append_waiting(std::uint64_t now) {
  if (now < kLongWait) return;
  recorder_.visit_waiting(now - kLongWait, [&](const WaitingOperation& waiting) {
    if (!append_communicator(waiting.communicator)) return;
    fmt::format_to(
        std::back_inserter(pending_),
        "{{\"waiting\":{},\"place\":{},\"at_ns\":{},\"peer\":{},\"channel\":{},\"sends\":{},\"for\":\"{}\","
        "\"since_ns\":{}}}\n",
        waiting.serial, waiting.communicator, wall_time(now), waiting.peer, waiting.channel, waiting.sends,
        name_of(waiting.wait), now - waiting.since);
  });
}

void ProfileFile::flush() {
  // What does not fit on a full disk is lost, perhaps within a line.
  const ssize_t wrote = pending_.empty() ? 0 : write(file_.get(), pending_.data(), pending_.size());
  if (wrote > 0) size_ += static_cast<std::size_t>(wrote);
  pending_.clear();
  if (size_ > kMaxProfileBytes) reopen();
}

}  // namespace weft::nccl
