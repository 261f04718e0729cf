#include "balancer/export/exec_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "balancer/export/slurm_node.hpp"
#include "topology/files/json_view.hpp"
#include "topology/os/run_program.hpp"

namespace weft::exports {
namespace {

constexpr std::array<std::string_view, 3> kWhose{"nobody", "weft", "others"};
constexpr std::string_view kAbsent = "absent";  // the program does not have the object
constexpr std::size_t kMaxText = 1000;
constexpr Bytes kMaxOutput = Bytes(64'000'000);

std::string json_line(const nlohmann::ordered_json& value) { return value.dump() + "\n"; }

/// As the program is given it.
std::string line_of(const Change& change) {
  nlohmann::ordered_json line;
  line["id"] = id_of(change);
  line["act"] = to_string(change.act);
  line["object"] = change.object;
  line["before"] = change.before;
  line["set"] = change.set;
  return json_line(line);
}

Result<std::string_view> text_in(const files::JsonView& line, std::string_view key) {
  WEFT_TRY(const auto value, line.need(key));
  return value.text();
}

/// Absent: the program does not have the object.
Result<std::optional<Standing>> parse_standing(const files::JsonView& line, std::string& object) {
  Standing standing;
  WEFT_TRY(object, text_in(line, "object"));
  WEFT_TRY(const auto whose, text_in(line, "whose"));
  if (whose == kAbsent) return std::nullopt;
  WEFT_TRY(auto text, text_in(line, "text"));
  if (const auto lasts = line.find("lasts")) {
    WEFT_TRY(standing.lasts, lasts->boolean());
  }
  const auto at = std::ranges::find(kWhose, whose);
  if (at == kWhose.end()) return line.error("whose: expected nobody, weft, others or absent");
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  standing.object = object;
  standing.whose = static_cast<Whose>(at - kWhose.begin());
  standing.text = printable(text).substr(0, kMaxText);
  if (standing.text.empty() && standing.whose != Whose::nobody)
    standing.text = "the program says no more of it";
  if (standing.whose != Whose::weft) return standing;
  // A mark is ours only where it has our form.
  standing.mark = mark_in_reason(standing.text);
  if (!standing.mark) standing.whose = Whose::others;
  return standing;
}

}  // namespace

Result<std::vector<Standing>> parse_standings(std::string_view text, std::span<const std::string> objects) {
  std::set<std::string_view> asked(objects.begin(), objects.end());
  std::vector<Standing> standings;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto what = fmt::format("line {} of the program's answer", number);
    WEFT_TRY(const auto value, files::parse_json(line, what));
    std::string object;
    WEFT_TRY(auto standing, parse_standing(files::JsonView(value, what), object));
    if (asked.erase(object) == 0)
      return fail(ErrorKind::invalid_input, "{}: {} was not asked for, or stands twice", what, object);
    if (standing) standings.push_back(std::move(*standing));
  }
  if (!asked.empty())
    return fail(ErrorKind::invalid_input, "the program's answer has no line of {} ({} objects without one)",
                *asked.begin(), asked.size());
  return standings;
}

Result<std::string> ExecTarget::call(const char* word, const std::string& input) const {
  auto said = os::run_strange_program({program_, word}, input, limit_, kMaxOutput, os::Leftovers::all);
  // A status other than 0 is the program's error, not ours.
  if (!said && said.error().kind == ErrorKind::internal) said.error().kind = ErrorKind::absent;
  return said;
}

Result<void> ExecTarget::check_rights() {
  const auto said = call("check", "");
  if (said) return {};
  return fail(said.error().kind, "nothing was changed: {}", said.error().message);
}

Result<std::vector<Standing>> ExecTarget::read(std::span<const std::string> objects) {
  std::string input;
  for (const std::string& object : objects) input += json_line({{"object", object}});
  WEFT_TRY(const auto said, call("read", input));
  return parse_standings(said, objects);
}

Result<void> ExecTarget::apply(std::span<const Change> changes) {
  std::string input;
  for (const Change& change : changes) input += line_of(change);
  const auto said = call("apply", input);
  return said ? Result<void>() : pass_on(said);
}

std::string ExecTarget::by_hand(const Change& change) const {
  auto line = line_of(change);
  line.pop_back();
  return fmt::format("printf '%s\\n' {} | {} apply", shell_word(line), shell_word(program_));
}

}  // namespace weft::exports
