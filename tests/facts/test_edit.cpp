#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/edit.hpp"

namespace {

constexpr const char* probe = "gpuadm-probe 1\n=== a\n| one\n| one\n=== b\n| two\n? 0\n=== end\n";

base::Result<std::string> edit(const char* edits) {
  const auto tree = base::yaml::read(edits, "edits");
  REQUIRE(tree.has_value());
  return facts::edited(probe, *tree);
}

}  // namespace

TEST_CASE("sections of a probe are changed, taken out, replaced and added to") {
  CHECK(edit("change: { one: 1 }").value() ==
        "gpuadm-probe 1\n=== a\n| 1\n| one\n=== b\n| two\n? 0\n=== end\n");
  CHECK(edit("everywhere: { one: 1 }").value() ==
        "gpuadm-probe 1\n=== a\n| 1\n| 1\n=== b\n| two\n? 0\n=== end\n");
  CHECK(edit("without: [a]").value() == "gpuadm-probe 1\n=== b\n| two\n? 0\n=== end\n");
  CHECK(edit("probe: { a: \"\", b+: three, c: \"no\\n? 1\" }").value() ==
        "gpuadm-probe 1\n=== a\n=== b\n| two\n| three\n? 0\n=== c\n| no\n? 1\n=== end\n");
}

TEST_CASE("a change that finds nothing to change is an error, and no change changes nothing") {
  for (const char* edits :
       {"change: { three: 3 }", "everywhere: { three: 3 }", "without: [c]", "probe: { c+: more }"})
    CHECK_FALSE(edit(edits).has_value());
  CHECK(edit("clockOffset: 1").value() == probe);
  CHECK(facts::edited("=== cut off", {}).value() == "=== cut off");
}
