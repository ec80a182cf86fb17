#include "workers/engine/base/errors.hpp"
#include "workers/rank/sku_detector.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace worker;
using Catch::Matchers::Contains;

TEST_CASE("devices are recognized by name and memory, as NVML and CUDA say them") {
  struct Known {
    const char* name;
    std::int64_t mib;
    const char* sku;
  };
  const Known known = GENERATE(Known{"NVIDIA A100-PCIE-40GB", 40960, "a100-40gb"},
                               Known{"A100-PCIE-40GB", 40536, "a100-40gb"},
                               Known{"NVIDIA A100 80GB PCIe", 81920, "a100-80gb"},
                               Known{"NVIDIA A100-SXM4-40GB", 40960, "a100-sxm-40gb"},
                               Known{"NVIDIA H100 80GB HBM3", 81559, "h100-80gb"},
                               Known{"NVIDIA H200", 143771, "h200-141gb"},
                               Known{"NVIDIA L40S", 46068, "l40s-48gb"});
  CHECK(detect_sku("sweeps", {known.name, known.mib, "", 0, ""}) == known.sku);
}

TEST_CASE("a device of no profile is refused with what it is and what is known") {
  CHECK_THROWS_MATCHES(
      detect_sku("sweeps", {"Tesla V100-PCIE-16GB", 16384, "", 0, ""}), engine::InputError,
      Catch::Matchers::Predicate<engine::InputError>([](const auto& error) {
        const std::string text = error.what();
        return text.find("'Tesla V100-PCIE-16GB' with 16384 MiB") != std::string::npos &&
               text.find("h200-141gb: NVIDIA H200, 142000 to 144500 MiB") != std::string::npos;
      }));
}

TEST_CASE("a name with the memory of another card is no device of either") {
  CHECK_THROWS_AS(detect_sku("sweeps", {"NVIDIA H200", 81559, "", 0, ""}), engine::InputError);
}

TEST_CASE("a device that two profiles claim is refused with both names") {
  const support::TempDir folder;
  std::filesystem::copy("sweeps/models", folder.path() / "models");
  std::filesystem::create_directory(folder.path() / "gpus");
  for (const char* name : {"one", "two"})
    std::filesystem::copy_file("sweeps/gpus/l40s-48gb.toml",
                               folder.path() / "gpus" / (std::string(name) + ".toml"));
  CHECK_THROWS_WITH(detect_sku(folder.path(), {"NVIDIA L40S", 46068, "", 0, ""}),
                    Contains("fits both one and two"));
}

TEST_CASE("a fake device is written NAME,MiB; the name may hold commas") {
  const DeviceIdentity device = parse_device("NVIDIA, Inc. H200,143771");
  CHECK(device.name == "NVIDIA, Inc. H200");
  CHECK(device.memory_mib == 143771);
  for (const char* wrong : {"", "NVIDIA H200", ",143771", "NVIDIA H200,", "NVIDIA H200,141 GB",
                            "NVIDIA H200,-1", "NVIDIA H200,0"})
    CHECK_THROWS_WITH(parse_device(wrong), Contains("'NAME,MiB'"));
}

TEST_CASE("a card of the SKU's name in another form factor is not that SKU") {
  CHECK(detect_sku("sweeps", {"NVIDIA H200", 143771, "sxm", 700, ""}) == "h200-141gb");
  CHECK_THROWS_WITH(detect_sku("sweeps", {"NVIDIA H200", 143771, "pcie", 700, "0000:19:00.0"}),
                    Contains("at 0000:19:00.0 is a card of form factor pcie, h200-141gb is sxm"));
}

TEST_CASE("a card held below the SKU's power limit is not that SKU") {
  CHECK(detect_sku("sweeps", {"NVIDIA H200", 143771, "sxm", 690, ""}) == "h200-141gb");
  CHECK_THROWS_WITH(detect_sku("sweeps", {"NVIDIA H200", 143771, "sxm", 500, ""}),
                    Contains("is limited to 500 W, h200-141gb has 700 W"));
}

TEST_CASE("properties that a device does not report are not checked") {
  CHECK(detect_sku("sweeps", {"NVIDIA H200", 143771, "", 0, ""}) == "h200-141gb");
}

TEST_CASE("a device is identified by NVML's words where NVML is there, else by CUDA's") {
  backends::DeviceInfo info;
  info.name = "NVIDIA H200";
  info.memory_bytes = std::int64_t{143156} << 20;
  info.pci_bus_id = "0000:19:00.0";
  CHECK(identify(info).memory_mib == 143156);
  CHECK(identify(info).form_factor.empty());
  info.card = backends::NvmlCard{};
  info.card->name = "NVIDIA H200";
  info.card->memory_mib = 143771;
  info.card->form_factor = "sxm";
  info.card->power_limit_w = 700;
  CHECK(identify(info).memory_mib == 143771);
  CHECK(identify(info).power_limit_w == 700);
  CHECK(identify(info).pci_bus_id == "0000:19:00.0");
}
