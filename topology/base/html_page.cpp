#include "topology/base/html_page.hpp"

#include <fmt/format.h>

#include "topology/base/outside_text.hpp"
#include "topology/base/xml_text.hpp"

namespace weft {
namespace {

// One line a rule. A change of a byte changes the hash below, which a test holds against it. Colours of
// verdicts are told apart by the colour-blind (Okabe and Ito, 2008), and none stands without a shape or a
// word.
constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#5b6570;--line:#d4d9df;--band:#e3ebf3;--equal:#0072b2;--differs:#c44f00;--open:#6b7280;--ground:#fff;--panel:#fff;--faint:#5b6570;--accent:#0b62a8;--box:#fff;--healthy:#9fcdbb;--failed:#c8102e;--degraded:#e07b00;--congested:#0072b2;--unknown:#8b949e;--suspected:#8a4fbf}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--paper:#16191d;--soft:#a3adb8;--line:#3a424b;--band:#25303b;--equal:#56b4e9;--differs:#ff9a4d;--open:#a3adb8;--ground:#16191d;--panel:#1a2129;--faint:#9aa7b4;--accent:#6cb6ff;--box:#222b35;--healthy:#2c5d4d;--failed:#ff5a6e;--degraded:#ffab3d;--congested:#56b4e9;--unknown:#7d8894;--suspected:#c79bf2}}
body{margin:0 auto;padding:24px;max-width:960px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px;line-height:1.35;margin:0 0 8px}
h2{font-size:17px;margin:32px 0 8px;border-bottom:1px solid var(--line)}
.verdict{display:inline-block;padding:2px 10px;border:2px solid;border-radius:4px;font-weight:700;text-transform:uppercase}
.soft,.faint{color:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:left;padding:3px 8px;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
details{margin:8px 0}
summary{cursor:pointer}
summary:focus-visible{outline:2px solid var(--equal)}
.chart{width:100%;height:auto;display:block}
.chart text{font:12px system-ui,sans-serif;fill:var(--ink)}
.name{text-anchor:end}
.tick{text-anchor:middle}
.band{fill:var(--band)}
.grid{stroke:var(--line)}
.interval{stroke-width:3}
line.equal{stroke:var(--equal)}
line.differs{stroke:var(--differs)}
line.undecided{stroke:var(--open)}
circle.equal{fill:var(--equal)}
path.differs{fill:var(--differs)}
rect.undecided{fill:var(--paper);stroke:var(--open);stroke-width:2}
b.equal,.verdict.equal{color:var(--equal)}
b.differs,.verdict.differs{color:var(--differs)}
b.undecided,.verdict.undecided{color:var(--open)}
.bar{fill:var(--equal)}
.rest{fill:var(--open)}
.whisker{stroke:var(--ink);stroke-width:2}
.dot{fill:var(--ink)}
.trace{fill:none;stroke:var(--soft)}
.verdict.healthy{color:var(--equal)}
.verdict.degraded,.verdict.failed,.verdict.congested{color:var(--differs)}
.verdict.unknown{color:var(--open)}
.finding{border-left:6px solid var(--unknown);padding:2px 12px;margin:12px 0;overflow-wrap:anywhere}
.finding.failed{border-color:var(--failed)}
.finding.degraded{border-color:var(--degraded)}
.finding.congested{border-color:var(--congested)}
.finding ul{margin:4px 0 4px 18px;padding:0}
.wide{overflow-x:auto}
.curve text{font:12px system-ui,sans-serif;fill:var(--ink)}
.second{fill:none;stroke:var(--differs);stroke-width:2;stroke-dasharray:6 3}
.first{fill:none;stroke:var(--equal);stroke-width:2}
.frame{overflow:auto;max-height:70vh;border:1px solid var(--line)}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin:6px 0}
.tools input{min-width:18em}
.tools span{display:inline-flex;align-items:center;gap:4px;font-size:12px;color:var(--soft)}
button,input{font:inherit;color:inherit;background:var(--box);border:1px solid var(--line);border-radius:5px;padding:2px 8px}
:focus-visible{outline:2px solid var(--accent)}
#tip{position:fixed;z-index:5;pointer-events:none;background:var(--panel);border:1px solid var(--line);border-radius:5px;padding:4px 8px;font-size:12px;max-width:34em}
canvas{display:block}
.tools canvas{display:inline-block}
[hidden]{display:none!important}
@media print{.tools,#tip{display:none}.frame{max-height:none;overflow:visible}body{max-width:none;padding:0}details>*{display:block}details::details-content{content-visibility:visible}h2{break-after:avoid}.chart,.frame{break-inside:avoid}}
)";
constexpr std::string_view kStyleHash = "sha256-NH82ivjAMpwzUp6U07D+NOUdvMt06DuQ4VGKBuP6oQM=";

}  // namespace

std::string_view html_style() { return kStyle; }
std::string_view html_style_hash() { return kStyleHash; }

std::string html_head(std::string_view title, std::string_view script_hash) {
  const std::string script = script_hash.empty() ? "" : fmt::format(" script-src '{}';", script_hash);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}';{} img-src "
      "data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>{}</style></head>\n<body>\n",
      kStyleHash, script, xml_escaped(outside_text(title)), kStyle);
}

}  // namespace weft
