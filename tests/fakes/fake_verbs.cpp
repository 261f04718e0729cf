#include "tests/fakes/fake_verbs_state.hpp"
#include "topology/base/check.hpp"

namespace weft::fakes {
namespace {

std::unique_lock<std::mutex> lock() { return std::unique_lock(current->mutex); }

}  // namespace

FakeVerbs::FakeVerbs(std::vector<IpAddress> addresses) : state_(std::make_unique<FakeVerbsState>()) {
  WEFT_CHECK(current == nullptr);
  for (const IpAddress& address : addresses) {
    auto device = std::make_unique<Device>();
    device->name = fmt::format("fake{}", state_->devices.size());
    device->gid = rdma::gid_of(address);
    state_->list.push_back(&device->device);
    state_->devices.push_back(std::move(device));
  }
  current = state_.get();
}

FakeVerbs::~FakeVerbs() { current = nullptr; }

void FakeVerbs::forget_gid(std::size_t device) {
  const auto guard = lock();
  state_->devices[device]->has_gid = false;
}

void FakeVerbs::join_subnet(std::size_t device, const LidRange& lids) {
  const auto guard = lock();
  state_->devices[device]->lids = lids;
}

void FakeVerbs::drive(std::size_t device, rdma::RdmaDriver driver) {
  const auto guard = lock();
  state_->devices[device]->driver = driver;
}

std::size_t FakeVerbs::queue_pairs() const {
  const auto guard = lock();
  return state_->pairs.size();
}

void FakeVerbs::take_down(std::size_t device) {
  const auto guard = lock();
  state_->devices[device]->is_up = false;
}

void FakeVerbs::stamp(std::size_t device, std::chrono::nanoseconds ahead) {
  const auto guard = lock();
  state_->devices[device]->ahead = ahead;
}

void FakeVerbs::limit_reads(std::size_t device, const rdma::ReadLimits& limits) {
  const auto guard = lock();
  state_->devices[device]->reads = limits;
}

void FakeVerbs::drain_slowly(std::size_t device, int asks) {
  const auto guard = lock();
  state_->devices[device]->asks_to_drain = asks;
}

rdma::ReadLimits FakeVerbs::reads_given(std::size_t device) const {
  const auto guard = lock();
  return state_->devices[device]->reads_given;
}

std::vector<FakeVerbs::Marks> FakeVerbs::marks() const {
  const auto guard = lock();
  return state_->marks();
}

void FakeVerbs::watch_next_message() {
  const auto guard = lock();
  state_->watches = true;
}

FakeVerbs::Seen FakeVerbs::seen() const {
  const auto guard = lock();
  return state_->seen;
}

std::shared_ptr<const rdma::VerbsLibrary> FakeVerbs::library() const {
  auto made = std::make_shared<rdma::VerbsLibrary>();
  give_calls(*made);
  return made;
}

void FakeVerbs::cut(std::size_t device, std::size_t after) {
  const std::lock_guard guard(state_->mutex);
  state_->devices.at(device)->passes = after;
}
void FakeVerbs::lose(std::size_t device, Lid to, std::size_t one_in) {
  const std::lock_guard guard(state_->mutex);
  state_->devices.at(device)->losses[to.value()] = {one_in, 0};
}
void FakeVerbs::refuse(Call call, int error, std::size_t after) {
  const std::lock_guard guard(state_->mutex);
  state_->refusals.push_back({call, error, after});
}
void FakeVerbs::end_with(std::size_t device, int status, std::size_t after) {
  const std::lock_guard guard(state_->mutex);
  state_->devices.at(device)->ends = {status, after};
}
void FakeVerbs::shrink_queues(std::size_t entries) {
  const std::lock_guard guard(state_->mutex);
  state_->entries = entries;
}
void FakeVerbs::tell_one_by_one() {
  const auto guard = lock();
  state_->most_a_look = 1;
}
std::size_t FakeVerbs::held() const {
  const std::lock_guard guard(state_->mutex);
  return state_->held;
}
std::size_t FakeVerbs::messages() const {
  const std::lock_guard guard(state_->mutex);
  return state_->messages;
}
std::size_t FakeVerbs::copied() const {
  const std::lock_guard guard(state_->mutex);
  return state_->copied;
}
std::size_t FakeVerbs::doorbells() const {
  const std::lock_guard guard(state_->mutex);
  return state_->doorbells;
}

}  // namespace weft::fakes
