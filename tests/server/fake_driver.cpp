// NVIDIA's driver and its management library on a machine without a GPU: one card, named by
// FAKE_CARD and FAKE_CARD_MIB. Loaded in place of libcuda.so.1 and libnvidia-ml.so.1.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

long long mib() { return std::atoll(std::getenv("FAKE_CARD_MIB")); }
int put(char* text, unsigned size, const char* value) {
  std::snprintf(text, size, "%s", value);
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuGetErrorString(int, const char** text) { return *text = "no error", 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return put(name, static_cast<unsigned>(size), std::getenv("FAKE_CARD"));
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return *bytes = static_cast<std::size_t>(mib()) << 20, 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  return *value = attribute == 75 ? 9 : 0, 0;  // compute capability 9.0
}
int cuDeviceGetPCIBusId(char* id, int size, int) {
  return put(id, static_cast<unsigned>(size), "0000:19:00.0");
}

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "no error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return put(text, size, "580.159.04"); }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** card) { return *card = nullptr, 0; }
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return put(text, size, std::getenv("FAKE_CARD"));
}
int nvmlDeviceGetUUID(void*, char* text, unsigned size) { return put(text, size, "GPU-0"); }
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = static_cast<unsigned long long>(mib()) << 20;
  return 0;
}
}
