#include "cli/gate_answer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <future>
#include <system_error>
#include <thread>

#include "balancer/export/gate_file.hpp"
#include "cli/exit_status.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

using exports::HostVerdict;

/// A file server that hangs keeps no job waiting for longer.
constexpr auto kMaxRead = std::chrono::seconds(3);

/// The file's text; an Error too where it does not come in time. A thread that still waits then ends with the
/// process.
Result<std::string> read_in_time(const std::string& path) {
  std::promise<Result<std::string>> promise;
  auto text = promise.get_future();
  try {
    std::thread([path, promise = std::move(promise)]() mutable {
      promise.set_value(files::read_text_file(path, exports::kMaxGateBytes));
    }).detach();
  } catch (const std::system_error&) {
    return fail(ErrorKind::absent, "{} cannot be read: this host starts no thread more", path);
  }
  if (text.wait_for(kMaxRead) == std::future_status::ready) return text.get();
  return fail(ErrorKind::absent, "{} cannot be read within {} s", path, kMaxRead.count());
}

}  // namespace

/// As Slurm calls this host, or as it calls itself, without its domain.
std::string this_host() {
  if (const char* name = std::getenv("SLURMD_NODENAME"); name && *name) return name;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

Result<Verdict> parse_refusal(const std::string& word) {
  const auto verdict = parse_verdict(word);
  if (verdict == Verdict::failed || verdict == Verdict::degraded) return *verdict;
  return fail(ErrorKind::usage, "--refuse {}: expected failed or degraded", word);
}

GateAnswer answer_of(const GateQuestion& question, UtcTime now) {
  if (question.host.empty()) return {"unknown no host is named, and this one has no name", kExitHealthy};
  const auto text = read_in_time(question.file);
  const auto said = text ? exports::read_gate(*text, question.host, now, question.longest)
                         : HostVerdict{question.host, Verdict::unknown, text.error().message};
  const bool is_refused = question.refuse && said.verdict >= *question.refuse;
  return {fmt::format("{} {}", weft::to_string(said.verdict), said.text),
          is_refused ? exit_status(said.verdict) : kExitHealthy};
}

}  // namespace weft::cli
