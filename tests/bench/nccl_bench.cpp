// What libweft-nccl.so costs a job's process: one post and one poll over a device that does nothing, with the
// library's hooks and without them (hook_ns: the difference); its plugins; and what it does to programs in
// guests.
//
//   bench_nccl [PART]    process, labels, cost, moves, failure or gain; one alone keeps what others measured
#include <infiniband/verbs.h>

#include <algorithm>
#include <chrono>

#include "balancer/nccl/tracked_qp.hpp"
#include "tests/bench/nccl/guest_figures.hpp"
#include "tests/bench/nccl/plugin_figures.hpp"
#include "tests/bench/support/figures.hpp"

namespace weft {
namespace {

constexpr int kRounds = 21;
constexpr int kPosts = 200'000;

int post_nothing(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
int poll_one(ibv_cq*, int, ibv_wc* completions) {
  completions[0].status = IBV_WC_SUCCESS;
  completions[0].opcode = IBV_WC_RDMA_WRITE;
  completions[0].qp_num = 17;
  return 1;
}

/// A post of one piece that asks for a completion, and a poll that gives it; nanoseconds, the least of
/// rounds.
double cost(ibv_qp& qp, ibv_cq& cq) {
  ibv_sge piece{0, 65'536, 0};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kPosts; ++i) {
      ibv_send_wr* bad = nullptr;
      ibv_wc completion{};
      static_cast<void>(ibv_post_send(&qp, &request, &bad));
      static_cast<void>(ibv_poll_cq(&cq, 1, &completion));
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / kPosts);
  }
  return least;
}

double hook_ns() {
  ibv_context context{};
  context.ops.post_send = post_nothing;
  context.ops.poll_cq = poll_one;
  ibv_qp qp{};
  ibv_cq cq{};
  qp.context = cq.context = &context;
  qp.qp_num = 17;
  const double plain = cost(qp, cq);
  nccl::TrackedQp tracked;
  tracked.context = &context;
  tracked.number = qp.qp_num;
  tracked.qp = &qp;
  tracked.post = nccl::wrap_context(&context);
  nccl::qp_table().insert(&tracked);
  const double hooked = cost(qp, cq);
  return hooked - plain;
}

int run(std::string_view part) {
  bench::Figures figures("nccl");
  if (part.empty() || part == "process") {
    figures.add("hook_ns", hook_ns(), "at most 50");
    bench::add_plugin_figures(figures);
  }
  if (part != "process") bench::add_guest_figures(figures, part);
  figures.keep_earlier();
  return figures.write();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc > 1 ? argv[1] : ""); }
