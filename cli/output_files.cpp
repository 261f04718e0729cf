#include "cli/output_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "collectors/web/report_page.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

Result<void> check_output_file(const char* option, const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown))
    return fail(ErrorKind::usage, "--{} {}: it is a folder: expected a file", option, file);
  const auto parent = std::filesystem::path(file).parent_path();
  const bool is_there = access(file.c_str(), F_OK) == 0;
  const std::string place = is_there ? file : parent.empty() ? "." : parent.string();
  if (access(place.c_str(), W_OK) != 0)
    return fail(ErrorKind::usage, "--{} {}: cannot write {}: {}", option, file, place, std::strerror(errno));
  return {};
}

/// Where neither is there yet, by their names. Devices and pipes keep nothing that could be lost.
bool are_one_file(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  const bool is_a = stat(a.c_str(), &one) == 0, is_b = stat(b.c_str(), &other) == 0;
  if (is_a && is_b) return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  std::error_code unknown;
  return !is_a && !is_b &&
         std::filesystem::weakly_canonical(a, unknown) == std::filesystem::weakly_canonical(b, unknown);
}

/// The files that an option names: one, or a list of them.
std::vector<std::string> files_of(const po::variables_map& values, const char* option) {
  if (!values.count(option)) return {};
  if (const auto* several = boost::any_cast<std::vector<std::string>>(&values[option].value()))
    return *several;
  return {values[option].as<std::string>()};
}

}  // namespace

Result<void> check_files_apart(const po::variables_map& values, std::span<const char* const> written,
                               std::span<const char* const> read) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto file = text_option(values, written[i]);
    const auto keeps = [&](const char* option) -> Result<void> {
      for (const std::string& other : files_of(values, option))
        if (file && are_one_file(*file, other))
          return fail(ErrorKind::usage, "--{} {}: it is the file of --{} too, and would take its place",
                      written[i], *file, option);
      return {};
    };
    for (const char* option : written.subspan(i + 1)) WEFT_TRY_VOID(keeps(option));
    for (const char* option : read) WEFT_TRY_VOID(keeps(option));
  }
  return {};
}

Result<void> check_output_files(const po::variables_map& values, std::span<const char* const> written,
                                std::span<const char* const> read) {
  for (const char* option : written)
    if (const auto file = text_option(values, option)) WEFT_TRY_VOID(check_output_file(option, *file));
  return check_files_apart(values, written, read);
}

void add_html_option(po::options_description& options) {
  options.add_options()("html", po::value<std::string>()->value_name("FILE"),
                        "write a report to look at: one file, which opens without a server");
}

Result<void> write_html(const std::optional<std::string>& file, std::string_view json,
                        const std::vector<const Fabric*>& fabrics) {
  if (!file) return {};
  WEFT_TRY(const auto page, web::report_page(json, "the document", fabrics, report::kNoLimits));
  return files::write_text_file(*file, page);
}

}  // namespace weft::cli
