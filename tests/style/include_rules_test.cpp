// Holds the code to docs/architecture.md: who includes whom, who touches the world outside, how long a file
// is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.hpp"
#include "tests/style/rules.hpp"

namespace weft::style {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string lines_of(const Violations& found) {
  std::string text;
  for (const std::string& line : found) text += line + "\n";
  return text;
}

const std::vector<SourceFile>& code() {
  static const auto files = read_code(WEFT_SOURCE_DIR);
  return files;
}

SourceFile file(const std::string& path, std::vector<std::string> lines) {
  SourceFile source{path, std::filesystem::path(path).parent_path().generic_string(), std::move(lines), {}};
  for (std::size_t i = 0; i < source.lines.size(); ++i)
    if (auto include = include_of(source.lines[i], i + 1); !include.what.empty())
      source.includes.push_back(std::move(include));
  return source;
}

TEST(Style, TheTreeIsThere) {
  EXPECT_GT(code().size(), 200u);
  for (const std::string_view folder : kCodeFolders)
    EXPECT_TRUE(std::ranges::any_of(code(), [&](const auto& f) { return f.path.starts_with(folder); }))
        << folder;
}

TEST(Style, FoldersIncludeOnlyWhatIsBelowThem) { EXPECT_EQ(lines_of(wrong_includes(code())), ""); }

TEST(Style, DeviceHeadersStayInAdapters) { EXPECT_EQ(lines_of(device_headers_outside_adapters(code())), ""); }

TEST(Style, PureCodeKnowsNoClockAndNoFileAndLibrariesNoEnvironmentAndNoOutput) {
  EXPECT_EQ(lines_of(outside_world(code())), "");
}

TEST(Style, EveryExceptionIsNeeded) { EXPECT_EQ(lines_of(stale_exceptions(code())), ""); }

TEST(Style, FilesStayShort) {
  EXPECT_EQ(lines_of(too_long(code(), 400)), "");
  EXPECT_EQ(lines_of(too_long(read_tree(WEFT_SOURCE_DIR, "tests"), 600)), "");
}

TEST(Style, EachSourceIncludesItsOwnHeaderFirst) { EXPECT_EQ(lines_of(own_header_not_first(code())), ""); }

std::vector<SourceFile> code_and_tests() {
  auto all = code();
  for (SourceFile& file : read_tree(WEFT_SOURCE_DIR, "tests")) all.push_back(std::move(file));
  return all;
}

TEST(Style, EachModuleHasANamespace) { EXPECT_EQ(lines_of(wrong_namespaces(code_and_tests())), ""); }

TEST(Style, ATypesNameStandsForOneTypeOfANamespace) {
  EXPECT_EQ(lines_of(types_defined_twice(code_and_tests())), "");
}

TEST(Style, LimitsAreNamedMaxAndMin) { EXPECT_EQ(lines_of(limits_named_otherwise(code_and_tests())), ""); }

TEST(StyleRules, ALimitOfAnotherNameIsFound) {
  EXPECT_THAT(limits_named_otherwise({file("cli/a.cpp", {"constexpr int kMaxRows = 1;",
                                                         "f(kLeast"
                                                         "Rows);"})}),
              SizeIs(1));
}

TEST(StyleRules, ANamespaceOfAnotherModuleIsFound) {
  const auto in = [](const std::string& path, const std::string& name) {
    return wrong_namespaces({file(path, {"namespace " + name + " {", "namespace {"})});
  };
  EXPECT_THAT(in("probes/engine/verbs/a.hpp", "weft::verbs"), IsEmpty());
  EXPECT_THAT(in("probes/session/a.hpp", "weft::session::json"), IsEmpty());
  EXPECT_THAT(in("topology/model/a.hpp", "weft"), IsEmpty());
  EXPECT_THAT(in("balancer/export/a.hpp", "weft::exports"), IsEmpty());
  EXPECT_THAT(in("tests/topology/files/a_test.cpp", "weft::files"), IsEmpty());
  EXPECT_THAT(in("tests/bench/a.hpp", "weft::bench"), IsEmpty());
  EXPECT_THAT(in("probes/session/a.cpp", "weft"),
              ElementsAre("probes/session/a.cpp:1: namespace weft: that of the folder is weft::session"));
  EXPECT_THAT(in("cli/a.cpp", "weft::session"), SizeIs(1));
  EXPECT_THAT(in("probes/plan/a.cpp", "weft::planner"), SizeIs(1));
}

TEST(StyleRules, ATypeOfTwoHeadersIsNamedAndADeclarationOrASpecialisationIsNot) {
  EXPECT_THAT(types_defined_twice({file("cli/a.hpp", {"struct Fault {", "class Lab;", "enum class Kind {"}),
                                   file("cli/b.hpp", {"class Fault final : public Base {", "class Lab;"}),
                                   file("probes/plan/a.hpp", {"struct Fault {"}),
                                   file("cli/c.cpp", {"struct Fault {"})}),
              ElementsAre("cli/b.hpp:1: Fault is defined in cli/a.hpp too"));
}

TEST(StyleRules, AnIncludeFromAboveIsNamedByFileAndLine) {
  EXPECT_THAT(wrong_includes(
                  {file("topology/base/x.hpp", {"#pragma once", "", "#include \"topology/model/y.hpp\""})}),
              ElementsAre("topology/base/x.hpp:3: topology/base may not include \"topology/model/y.hpp\""));
  EXPECT_THAT(
      wrong_includes({file("probes/packet/x.cpp", {"  #  include \"probes/session/bus.hpp\"  // why"})}),
      ElementsAre(testing::HasSubstr("probes/packet/x.cpp:1: ")));
}

TEST(StyleRules, NothingPureIncludesAnAdapterAndAdaptersShareTheOperatingSystemNicsAndRdmaAlone) {
  for (const char* folder : {"probes/engine/raw", "probes/session", "topology/files", "balancer/assign"})
    EXPECT_THAT(
        wrong_includes({file(folder + std::string("/x.cpp"), {"#include \"topology/lab/netns/lab.hpp\""})}),
        testing::SizeIs(1))
        << folder;
  for (const auto& [folder, module] : modules())
    for (const std::string& other : module.may_include)
      EXPECT_TRUE(
          !is_adapter(other) || module.application ||
          (module.adapter && (other == "topology/os" || other == "probes/nic" || other == "probes/rdma")))
          << folder << " -> " << other;
}

TEST(StyleRules, AModuleMayIncludeWhatThoseInItsLineMayAndAFolderIsOfTheModuleAboveIt) {
  const auto few = modules_in(
      "weft_module(a/b LIBS x)\nweft_module(a/c ADAPTER\n  DEPS a/b LIBS y)\nweft_module(d DEPS a/c)");
  EXPECT_EQ(few.at("d").may_include, (Folders{"a/b", "a/c"}));
  EXPECT_TRUE(few.at("a/c").adapter);
  EXPECT_FALSE(few.at("d").adapter);
  EXPECT_EQ(module_of("topology/lab/netns"), "topology/lab");
}

TEST(StyleRules, AFolderWithoutARuleIsRefused) {
  EXPECT_THAT(wrong_includes({file("balancer/magic/x.cpp", {})}), testing::SizeIs(1));
}

TEST(StyleRules, EnginesAreNamedInOnePlace) {
  const std::vector<std::string> lines{"#include \"probes/engine/raw/raw_engine.hpp\""};
  EXPECT_THAT(wrong_includes({file("cli/infiniband_lab.cpp", lines)}), IsEmpty());
  EXPECT_THAT(wrong_includes({file("cli/sweep.cpp", lines)}), testing::SizeIs(1));
}

TEST(StyleRules, ADeviceHeaderIsAllowedInAnAdaptersSourceOnly) {
  const std::vector<std::string> lines{"#include <infiniband/verbs.h>"};
  EXPECT_THAT(device_headers_outside_adapters({file("probes/engine/verbs/x.cpp", lines)}), IsEmpty());
  EXPECT_THAT(device_headers_outside_adapters({file("probes/engine/verbs/x.hpp", lines),
                                               file("probes/packet/x.cpp", lines), file("cli/x.cpp", lines)}),
              testing::SizeIs(3));
}

TEST(StyleRules, AClockInPureCodeIsFoundUnderAnyName) {
  EXPECT_THAT(outside_world({file("probes/plan/x.cpp", {"auto t = Clock::now();"}),
                             file("probes/plan/y.cpp", {"std::chrono::steady_clock::now();"}),
                             file("topology/lab/z.cpp", {"Clock::now(); std::getenv(\"HOME\");"}),
                             file("probes/plan/c.cpp", {"// Clock::now() is not for here"})}),
              ElementsAre(testing::HasSubstr("probes/plan/x.cpp:1: 'lock::now('"),
                          testing::HasSubstr("probes/plan/y.cpp:1: 'lock::now('"),
                          testing::HasSubstr("topology/lab/z.cpp:1: 'getenv('")));
}

TEST(StyleRules, ALongFileAndALateHeaderAreFound) {
  EXPECT_THAT(too_long({file("cli/x.cpp", std::vector<std::string>(401))}, 400),
              ElementsAre("cli/x.cpp:401: the file has 401 lines"));
  EXPECT_THAT(own_header_not_first({file("cli/x.hpp", {}), file("cli/x.cpp", {"#include <vector>"})}),
              testing::SizeIs(1));
}

}  // namespace
}  // namespace weft::style
