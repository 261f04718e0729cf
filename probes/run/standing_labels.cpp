#include "probes/run/standing_labels.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/run/job_directory.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxWaiting = 4;
static_assert(steer::kMaxLabelBytes + 1024 < watch::kMaxLabelRequest);

/// A directory that stays the same one whatever becomes of its name: who owns it may put a link in its place.
struct HeldDirectory {
  os::FileDescriptor file;
  std::string path;  // by which this process reaches it
};

/// Error: permission, where no job would take what this process writes there, or anybody may take it away.
Result<HeldDirectory> hold_directory(const std::string& directory) {
  HeldDirectory held{
      os::FileDescriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), {}};
  struct stat about {};
  if (!held.file || fstat(held.file.get(), &about) != 0)
    return fail(errno == EACCES ? ErrorKind::permission : ErrorKind::absent, "{}: {}",
                outside_text(directory), std::strerror(errno));
  if (geteuid() != 0 && about.st_uid != geteuid())
    return fail(
        ErrorKind::permission,
        "{} is of user {}, and the agent runs as user {}: jobs take labels of root or of their own user",
        outside_text(directory), about.st_uid, geteuid());
  if ((about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0)
    return fail(ErrorKind::permission, "{}: anybody may replace its files: chmod +t {}",
                outside_text(directory), outside_text(directory));
  held.path = fmt::format("/proc/self/fd/{}", held.file.get());
  return held;
}

/// An error of `held`, in the words of who set up the directory.
Error in_words_of(const std::string& directory, const HeldDirectory& held, Error error) {
  if (const auto at = error.message.find(held.path); at != std::string::npos)
    error.message.replace(at, held.path.size(), outside_text(directory));
  return error;
}

/// Takes a list, or where it is empty says what number the newest one has.
Result<std::uint64_t> take_list(const LabelPlace& place, std::span<const IpAddress> nics, ByteSpan bytes,
                                std::string& line) {
  if (!place.refused.empty()) return fail(ErrorKind::permission, "{}", place.refused);
  WEFT_TRY(const auto held, hold_directory(place.directory));
  const auto mine = [&](Error error) { return in_words_of(place.directory, held, std::move(error)); };
  remove_ended(held.path);
  const auto newest = newest_list(held.path).map_error(mine);
  if (!newest || bytes.empty()) return newest;
  WEFT_TRY(const auto list, check_labels(bytes, nics, *newest));
  if (const auto written = write_labels(held.path, list).map_error(mine); !written) return pass_on(written);
  line = fmt::format("list {} of labels is in {}: {} pairs of NICs{}", list.generation,
                     outside_text(place.directory), list.pairs.size(),
                     list.job.empty() ? "" : ", of job " + list.job);
  return list.generation;
}

}  // namespace

Result<steer::LabelList> check_labels(ByteSpan bytes, std::span<const IpAddress> nics, std::uint64_t newest) {
  WEFT_TRY(auto list, steer::decode_labels(bytes));
  if (list.pairs.empty()) return fail(ErrorKind::invalid_input, "a label list without any labels");
  for (const steer::PairLabels& pair : list.pairs)
    if (std::ranges::none_of(nics, [&](const auto& nic) { return steer::gid_of(nic) == pair.own; }))
      return fail(ErrorKind::invalid_input,
                  "it has labels of {}, which is no NIC that the agent of this host serves",
                  steer::gid_text(pair.own));
  if (list.generation > steer::kMaxGeneration)
    return fail(ErrorKind::invalid_input, "list {}: no list may have a number above {}", list.generation,
                steer::kMaxGeneration);
  if (list.generation <= newest)
    return fail(ErrorKind::conflict, "list {} is not newer than list {}, which is there or in force",
                list.generation, newest);
  return list;
}

StandingLabels::StandingLabels(LabelPlace place, std::vector<IpAddress> nics)
    : place_(std::move(place)),
      nics_(std::move(nics)),
      thread_([this](const std::stop_token& stop) { go_round(stop); }) {}

void StandingLabels::take(std::string request) {
  const std::lock_guard lock(mutex_);
  if (requests_.size() >= kMaxWaiting) return;  // it is sent again
  requests_.push_back(std::move(request));
  waits_.notify_all();
}

std::vector<StandingLabels::Answered> StandingLabels::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

StandingLabels::Answered StandingLabels::answer(std::uint64_t id, ByteSpan bytes) {
  if (last_taken_ && last_taken_->id == id) return {watch::answer_text(*last_taken_), {}};
  watch::LabelAnswer answer{.id = id, .generation = 0, .refused = {}};
  std::string line;
  const auto request = watch::decode_request(bytes);
  const auto taken = request ? take_list(place_, nics_, request->list, line)
                             : Result<std::uint64_t>(tl::unexpected<Error>(request.error()));
  if (taken)
    answer.generation = *taken;
  else
    answer.refused = taken.error().message;
  const bool is_given = request && !request->list.empty();
  if (is_given && taken) last_taken_ = answer;
  if (is_given && !taken) line = "labels of an operator are refused: " + answer.refused;
  return {watch::answer_text(answer), std::move(line)};
}

void StandingLabels::go_round(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (waits_.wait(lock, stop, [this] { return !requests_.empty(); })) {
    const auto request = std::move(requests_.front());
    requests_.pop_front();
    const auto bytes = std::as_bytes(std::span(request));
    const auto id = watch::peek_request_id(bytes);
    if (!id) continue;  // nobody waits for an answer
    lock.unlock();
    auto answered = answer(*id, bytes);
    lock.lock();
    answers_.push_back(std::move(answered));
  }
}

}  // namespace weft::run
