#include "cli/watch_listener.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/incident_report.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::cli {
namespace {

class Listener : public run::WatchListener {
 public:
  Listener(const Fabric& fabric, bool json, std::optional<std::ofstream> file)
      : fabric_(fabric), json_(json), file_(std::move(file)) {}

  void on_event(const IncidentEvent& event, bool followed) override {
    if (followed) return;  // told by the watcher that wrote it
    const auto line = files::event_line(files::report_of(fabric_, event));
    fmt::print("{}", json_ ? line + "\n" : report::event_lines(fabric_, event, terminal_columns()));
    std::fflush(stdout);
    if (file_ && !(*file_ << line << std::endl)) {
      print_stderr("weft: the file of --events cannot be written any more: {}\n", std::strerror(errno));
      file_.reset();
    }
  }
  void on_state(const watch::WatchState&) override {}
  void on_note(std::string_view text) override { print_stderr("weft: {}\n", text); }

 private:
  const Fabric& fabric_;
  bool json_;
  std::optional<std::ofstream> file_;
};

}  // namespace

void add_watch_output_options(po::options_description& options) {
  add_output_option(options);
  options.add_options()("events", po::value<std::string>()->value_name("FILE"),
                        "append each event to a file, as a line of JSON (weft.event/1)");
}

Result<std::unique_ptr<run::WatchListener>> make_watch_listener(const po::variables_map& values,
                                                                const Fabric& fabric) {
  WEFT_TRY(const bool json, wants_json(values));
  std::optional<std::ofstream> file;
  if (const auto path = text_option(values, "events")) {
    file.emplace(*path, std::ios::app);
    if (!*file) return fail(ErrorKind::absent, "--events: cannot write {}: {}", *path, std::strerror(errno));
  }
  return std::make_unique<Listener>(fabric, json, std::move(file));
}

}  // namespace weft::cli
