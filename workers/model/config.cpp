#include "workers/model/config.hpp"

namespace model {

std::string to_text(DType type) {
  switch (type) {
    case DType::f32:
      return "float32";
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
  }
  return "";
}

}  // namespace model
