#include "cli/report_html.hpp"

#include "collectors/web/report_page.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {

void add_html_option(po::options_description& options) {
  options.add_options()("html", po::value<std::string>()->value_name("FILE"),
                        "write a report to look at: one file, which opens without a server");
}

Result<void> write_html(const std::optional<std::string>& file, std::string_view json, const Fabric* fabric) {
  if (!file) return {};
  WEFT_TRY(const auto page, web::report_page(json, "the document", fabric));
  return files::write_text_file(*file, page);
}

}  // namespace weft::cli
