#include "tests/support/schema.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

// valijson converts between signed and unsigned sizes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/places.hpp"
#pragma GCC diagnostic pop

namespace weft {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

std::string described(valijson::ValidationResults& results) {
  std::string text;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const auto& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text;
}

}  // namespace

testing::AssertionResult matches_schema(std::string_view json_text, std::string_view name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/schema/" + std::string(name) + ".schema.json");
  const auto rules = nlohmann::json::parse(file, nullptr, false);
  if (rules.is_discarded())
    return testing::AssertionFailure() << "docs/schema has no schema '" << name << "'";
  const auto document = nlohmann::json::parse(json_text, nullptr, false);
  if (document.is_discarded()) return testing::AssertionFailure() << "not JSON: " << json_text;
  valijson::Schema schema;
  const Adapter rules_adapter(rules);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(rules_adapter, schema);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  const Adapter document_adapter(document);
  if (validator.validate(schema, document_adapter, &results)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "against " << name << ".schema.json:\n" << described(results);
}

}  // namespace weft
