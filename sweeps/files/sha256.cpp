#include "sweeps/files/sha256.hpp"

#include <openssl/evp.h>

#include <new>

namespace sweep {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void check(int status) {
  if (status != 1) throw std::bad_alloc();  // nothing else fails where the algorithm is built in
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  // EVP_sha256() would look for it in each call. It lives as long as the process.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  check(context_ ? EVP_DigestInit_ex(context_.get(), algorithm, nullptr) : 0);
}

void Sha256::update(std::string_view bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(context_.get(), digest, &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kHexDigits[digest[i] >> 4];
    text += kHexDigits[digest[i] & 15];
  }
  return text;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of(kHexDigits) == text.npos;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.hex();
}

}  // namespace sweep
