#pragma once
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace sweep {

/// SHA-256 of a stream of bytes, by OpenSSL.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  /// The digest as 64 lower-case hex digits. Must be the last call.
  std::string hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_of(std::string_view bytes);

/// Whether a text has the form of a digest: 64 lower-case hex digits.
bool is_sha256(std::string_view text);

}  // namespace sweep
