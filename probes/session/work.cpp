#include "probes/session/work.hpp"

namespace weft::session {
namespace {

template <class T>
Result<TaskAnswer> as_answer(Result<std::vector<T>> tallies) {
  if (!tallies) return pass_on(tallies);
  return TaskAnswer(std::move(*tallies));
}

struct Worker {
  const NicEngines& engines;
  std::stop_token stop;
  Result<TaskAnswer> operator()(const datapath::TraceRequest& request) const {
    return as_answer(engines.probes->trace(request, stop));
  }
  Result<TaskAnswer> operator()(const datapath::PingRequest& request) const {
    return as_answer(engines.probes->ping(request, stop));
  }
  Result<TaskAnswer> operator()(const datapath::FlowRequest& request) const {
    if (!engines.flows) return fail(ErrorKind::not_supported, "this engine sends no load");
    return as_answer(engines.flows->run(request, stop));
  }
  Result<TaskAnswer> operator()(const datapath::TransferRequest& request) const {
    if (!engines.flows) return fail(ErrorKind::not_supported, "this engine sends no load");
    return as_answer(engines.flows->transfer(request, stop));
  }
  Result<TaskAnswer> operator()(const ReceivedQuery& query) const {
    return as_answer(engines.probes->received(query.batch));
  }
  Result<TaskAnswer> operator()(const CounterQuery&) const {
    std::vector<NicCounters> read;
    if (engines.counters)
      if (auto counters = engines.counters()) read.push_back(std::move(*counters));
    return TaskAnswer(std::move(read));
  }
};

/// No answer, of the kind that belongs to the work.
TaskAnswer empty_answer(const TaskWork& work) {
  switch (work.index()) {
    case 0:
      return std::vector<datapath::HopAnswer>();
    case 1:
      return std::vector<datapath::PingTally>();
    case 2:
      return std::vector<datapath::FlowTally>();
    case 3:
      return std::vector<datapath::ReceivedTally>();
    case 4:
      return std::vector<datapath::TransferTally>();
    default:
      return std::vector<NicCounters>();
  }
}

}  // namespace

Result<TaskAnswer> do_work(const NicEngines& engines, const TaskWork& work, std::stop_token stop) {
  return std::visit(Worker{engines, std::move(stop)}, work);
}

bool is_of_tool(const Error& error) { return error.kind != ErrorKind::absent; }

TaskResult result_of(TaskId id, const TaskWork& work, const Result<TaskAnswer>& answer) {
  if (!answer)
    return {.id = id,
            .error = answer.error().message,
            .answer = empty_answer(work),
            .of_tool = is_of_tool(answer.error())};
  return {.id = id, .answer = *answer};
}

}  // namespace weft::session
