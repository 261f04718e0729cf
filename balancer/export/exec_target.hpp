// ExecTarget: whatever a site has besides, by a program of its own. It is started once a call, with `check`,
// `read` or `apply` as its last word, takes JSON lines on stdin and answers by JSON lines on stdout
// (docs/blacklist.md, "A program of the site"). A status other than 0 is an error, with its stderr.
#pragma once

#include "balancer/export/translate.hpp"
#include "topology/base/units.hpp"

namespace weft::exports {

class ExecTarget : public Target {
 public:
  /// `limit`, of one call: the program is killed then.
  ExecTarget(const std::string& program, Nanoseconds limit)
      : name_("exec:" + program), program_(program), limit_(limit) {}

  /// With the program: marks of two programs are two.
  std::string_view name() const override { return name_; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_program(ledger, fabric, policy);
  }
  Result<void> check_rights() override;
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override;
  Result<void> apply(std::span<const Change> changes) override;
  std::string by_hand(const Change& change) const override;

 private:
  Result<std::string> call(const char* word, const std::string& input) const;

  std::string name_, program_;
  Nanoseconds limit_;
};

/// What a program says of objects, a line each; those that it does not have are left out. Errors:
/// invalid_input, which names the line: also where an object stands twice, was not asked for, or has no
/// line: an answer that is short means that marks may stand there of which it says nothing.
Result<std::vector<Standing>> parse_standings(std::string_view text, std::span<const std::string> objects);

}  // namespace weft::exports
