// Hosts that gave no report: which trouble that is, by what the launcher and the host said.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "probes/diagnosis/host/doctor_findings.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kNotExecutable = 126;  // what shells answer
constexpr int kNoSuchProgram = 127;
constexpr int kSshFailed = 255;

struct Sign {
  std::string_view words;  // in small letters
  HostTrouble trouble;
};
// As OpenSSH, dropbear, POSIX shells, glibc's loader and srun say it; the first that is there counts.
constexpr auto kSigns = std::to_array<Sign>({
    {"host key verification failed", HostTrouble::host_key},
    {"host identification has changed", HostTrouble::host_key},
    {"exec format error", HostTrouble::wrong_machine},
    {"cannot execute binary file", HostTrouble::wrong_machine},
    {"error while loading shared libraries", HostTrouble::missing_libraries},
    {"version `glibc", HostTrouble::missing_libraries},
    {"required file not found", HostTrouble::missing_libraries},  // bash of a loader that is not there
    {"unknown command 'doctor", HostTrouble::other_version},
    {"unrecognised option", HostTrouble::other_version},
    {"unknown option", HostTrouble::other_version},
    {"access denied", HostTrouble::login_refused},  // pam_slurm_adopt, before the connection is closed
    {"password has expired", HostTrouble::login_refused},
    {"password change required", HostTrouble::login_refused},
    {"account is currently not available", HostTrouble::login_refused},
    {"too many authentication failures", HostTrouble::login_refused},
    {"could not resolve", HostTrouble::unreachable},
    {"name or service not known", HostTrouble::unreachable},
    {"connection refused", HostTrouble::unreachable},
    {"no route to host", HostTrouble::unreachable},
    {"network is unreachable", HostTrouble::unreachable},
    {"timed out", HostTrouble::unreachable},
    {"connection reset", HostTrouble::unreachable},
    {"connection closed", HostTrouble::unreachable},
    {"invalid node name", HostTrouble::unreachable},
    {"node configuration is not available", HostTrouble::unreachable},
    {"not found", HostTrouble::no_weft},
    {"no such file", HostTrouble::no_weft},
    {"no such program", HostTrouble::no_weft},
});

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

struct Answer {
  std::string what;
  std::string remedy;
};

Answer answer_of(HostTrouble trouble, const AskedHost& host, const DoctorExpectations& expectations) {
  const std::string& program = expectations.program;
  const std::string copy = fmt::format("scp {0} @host:{0}", program);
  if (trouble == HostTrouble::unreachable)
    return {"cannot be reached",
            "look whether it is on and named right (ping -c 1 @host), or leave it out of --hosts"};
  if (trouble == HostTrouble::host_key)
    return {"its host key is not the one that is known",
            "make sure that it is the right host, then: ssh-keygen -R @host; ssh @host true"};
  const std::string said = trouble == HostTrouble::login_refused ? in_small_letters(host.words) : "";
  if (said.find("pam_slurm") != std::string::npos)
    return {"takes logins of those alone who have a job there",
            "ask from a job: salloc -w @host weft doctor --hosts @host --launcher srun"};
  if (said.find("expired") != std::string::npos || said.find("password change") != std::string::npos)
    return {"refuses the login until its password is changed",
            "ssh -t @host passwd; for a user who logs in by key alone: chage -M -1 USER there"};
  if (trouble == HostTrouble::login_refused)
    return {"refuses the login",
            "ssh-copy-id @host; for another user: --launcher 'ssh -o BatchMode=yes -l USER {host}'"};
  if (trouble == HostTrouble::no_answer)
    return {fmt::format("did not answer within {}", expectations.limit),
            "see where it hangs (@login true); a host that is only slow needs more time: --gather 2m"};
  if (trouble == HostTrouble::no_weft)
    return {fmt::format("has no {}", program), copy + ", or say where it is: --agent-program PATH"};
  if (trouble == HostTrouble::wrong_machine)
    return {"weft does not run there: it is built for another architecture",
            "see which one (@login uname -m), install weft for it and name it: --agent-program PATH"};
  if (trouble == HostTrouble::missing_libraries)
    return {"weft does not run there: a library is missing or older",
            fmt::format("see which (@login ldd {}), install weft's package there: apt-get install ./weft.deb",
                        program)};
  if (trouble == HostTrouble::other_version) {
    const std::string theirs =
        host.report ? fmt::format("weft there is {} and speaks protocol {}, not {}", host.report->version,
                                  host.report->protocol, expectations.protocol)
                    : std::string("weft there is older and does not know this question");
    return {theirs, fmt::format("install weft {} there: {}", expectations.version, copy)};
  }
  return {"its answer is no report", fmt::format("see what it says: @login {} doctor-report", program)};
}

constexpr std::string_view kDenied = "permission denied";  // a file that may not be run, or a login

struct Telling {
  std::size_t at = 0;  // where in the text it stands
  HostTrouble trouble;
};

std::optional<Telling> telling_words(std::optional<int> exit_code, std::string_view words) {
  const std::string said = in_small_letters(words);
  if (const auto at = said.find(kDenied); at != std::string::npos)
    return Telling{at, exit_code == kNotExecutable ? HostTrouble::no_weft : HostTrouble::login_refused};
  for (const Sign& sign : kSigns)
    if (const auto at = said.find(sign.words); at != std::string::npos) return Telling{at, sign.trouble};
  return std::nullopt;
}

}  // namespace

HostTrouble why_silent(std::optional<int> exit_code, std::string_view words) {
  if (const auto telling = telling_words(exit_code, words)) return telling->trouble;
  if (exit_code == kNoSuchProgram || exit_code == kNotExecutable) return HostTrouble::no_weft;
  if (exit_code == kSshFailed) return HostTrouble::unreachable;
  return HostTrouble::bad_answer;
}

std::string_view telling_line(std::optional<int> exit_code, std::string_view words) {
  const auto trimmed = [](std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    return text;
  };
  words = trimmed(words);
  const auto telling = telling_words(exit_code, words);
  const auto begin = words.rfind('\n', telling ? telling->at : std::string_view::npos) + 1;
  return trimmed(words.substr(begin, words.find('\n', begin) - begin));
}

FoundTrouble silence_finding(const AskedHost& host, const DoctorExpectations& expectations) {
  const HostTrouble trouble =
      host.report ? HostTrouble::other_version : host.silence.value_or(HostTrouble::bad_answer);
  const Answer answer = answer_of(trouble, host, expectations);
  return {trouble, Verdict::unknown, host.name, answer.what, host.words, answer.remedy};
}

}  // namespace weft::diagnosis
