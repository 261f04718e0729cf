// `weft nccl env`: what a job must set so that libweft-nccl.so comes into its processes.
#include <algorithm>
#include <filesystem>

#include "balancer/steer/tuner_table.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/options.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr const char* kLibraryName = "libweft-nccl.so";

struct JobSetting {
  std::string name;
  std::string value;
};

/// In a package /usr/lib/weft, in a build beside the program.
Result<std::string> installed_library() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& path : {folder / kLibraryName, folder.parent_path() / "lib/weft" / kLibraryName})
    if (std::filesystem::exists(path, error)) return path.string();
  return fail(ErrorKind::absent, "{} is not there: install the package weft-nccl, or name it with --library",
              kLibraryName);
}

/// Refused where a shell, Slurm or YAML would read something else.
Result<std::string> plain_path(std::string path, const char* option) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+").find(c) != std::string_view::npos;
  };
  if (path.starts_with('/') && std::ranges::all_of(path, is_plain)) return path;
  return fail(ErrorKind::usage, "--{} {}: expected a path from / on, of letters, digits and /._-+", option,
              outside_text(path));
}

void print_shell(const std::vector<JobSetting>& settings) {
  for (const auto& [name, value] : settings)
    if (name == "LD_PRELOAD")
      fmt::print("export LD_PRELOAD={}${{LD_PRELOAD:+:$LD_PRELOAD}}\n", value);
    else
      fmt::print("export {}={}\n", name, value);
}

void print_slurm(const std::vector<JobSetting>& settings) {
  fmt::print("--export=ALL");
  for (const auto& [name, value] : settings) fmt::print(",{}={}", name, value);
  fmt::print("\n");
}

/// Parts of a pod's description: `env` and `volumeMounts` of the container, `volumes` of the pod.
void print_kubernetes(const std::vector<JobSetting>& settings, const std::string& library,
                      const std::string& directory) {
  fmt::print("env:\n");
  for (const auto& [name, value] : settings) fmt::print("  - name: {}\n    value: \"{}\"\n", name, value);
  fmt::print(
      "volumeMounts:\n"
      "  - name: weft-library\n    mountPath: \"{0}\"\n    readOnly: true\n"
      "  - name: weft-labels\n    mountPath: \"{1}\"\n"
      "volumes:\n"
      "  - name: weft-library\n    hostPath:\n      path: \"{0}\"\n      type: File\n"
      "  - name: weft-labels\n    hostPath:\n      path: \"{1}\"\n      type: DirectoryOrCreate\n",
      library, directory);
}

/// The table as the job's variable has it: one that its ranks would refuse is refused here.
Result<std::string> tuner_text(const std::string& path) {
  WEFT_TRY(auto text, files::read_text_file(path, Bytes(steer::kMaxTunerText + 1)));
  if (const auto table = steer::decode_tuner(text); !table) return pass_on(table, outside_text(path));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// NCCL's tuner and profiler, where they are asked for.
Result<void> add_plugins(const po::variables_map& values, const std::string& library,
                         std::vector<JobSetting>& settings) {
  if (const auto table = text_option(values, "tuner")) {
    WEFT_TRY(auto text, tuner_text(*table));
    settings.push_back({"NCCL_TUNER_PLUGIN", library});
    settings.push_back({"WEFT_NCCL_TUNER", std::move(text)});
  }
  if (values.count("profile")) {
    const auto every = values["profile"].as<std::uint32_t>();
    if (every == 0)
      return fail(ErrorKind::usage, "--profile 0: expected of how many collectives one is told");
    settings.push_back({"NCCL_PROFILER_PLUGIN", library});
    settings.push_back({"WEFT_NCCL_PROFILE", std::to_string(every)});
  }
  return {};
}

Result<void> print_env(const po::variables_map& values) {
  const auto by = values["by"].as<std::string>();
  const auto place = values["for"].as<std::string>();
  if (by != "preload" && by != "plugin")
    return fail(ErrorKind::usage, "--by {}: expected preload or plugin", by);
  auto named = text_option(values, "library");
  if (!named) {
    WEFT_TRY(named, installed_library());
  }
  WEFT_TRY(const auto library, plain_path(*named, "library"));
  WEFT_TRY(const auto directory, plain_path(nccl_directory(values, "dir"), "dir"));
  std::vector<JobSetting> settings{{"WEFT_NCCL_DIR", directory},
                                   {by == "plugin" ? "NCCL_ENV_PLUGIN" : "LD_PRELOAD", library}};
  WEFT_TRY_VOID(add_plugins(values, library, settings));
  if (place == "shell")
    print_shell(settings);
  else if (place == "slurm")
    print_slurm(settings);
  else if (place == "kubernetes")
    print_kubernetes(settings, library, directory);
  else
    return fail(ErrorKind::usage, "--for {}: expected shell, slurm or kubernetes", place);
  return {};
}

}  // namespace

OptionParser nccl_env_options() {
  OptionParser parser(
      "weft nccl env [--by preload|plugin] [--for shell|slurm|kubernetes]",
      "Prints what a job must set so that libweft-nccl.so gives its queue pairs their labels. `preload` "
      "serves "
      "every program that uses verbs;\n`plugin` only NCCL 2.28 and later, without LD_PRELOAD.",
      "  eval \"$(weft nccl env)\"\n"
      "  weft nccl env --for slurm --tuner tuner --profile 16\n"
      "  weft nccl env --by plugin --for kubernetes --library /usr/lib/weft/libweft-nccl.so\n");
  parser.options(Group::how)
      .add_options()("by", po::value<std::string>()->value_name("preload|plugin")->default_value("preload"),
                     "how the library comes into the job: by LD_PRELOAD, or by NCCL's env plugin")(
          "for", po::value<std::string>()->value_name("shell|slurm|kubernetes")->default_value("shell"),
          "who reads it: a shell, srun's command line, a pod's description")(
          "library", po::value<std::string>()->value_name("FILE"),
          "the library, as the job finds it; without: where this program is installed")(
          "tuner", po::value<std::string>()->value_name("FILE"),
          "NCCL's tuner answers from this table of `weft nccl tune`; all ranks must have the same one, so "
          "run this once, "
          "where the job is launched")(
          "profile", po::value<std::uint32_t>()->value_name("N"),
          "NCCL's profiler tells of one in N collectives what they wait for (`weft nccl slow`)")(
          "dir", po::value<std::string>()->value_name("DIR"),
          "the directory of labels and queue pairs, one a job; without: WEFT_NCCL_DIR, else "
          "weft-nccl-UID in /dev/shm");
  return parser;
}

int nccl_env_command(const Arguments& arguments) {
  return run_command(nccl_env_options(), arguments, print_env);
}

}  // namespace weft::cli
