#include "sweeps/files/sha256.hpp"
#include "sweeps/definition/input_file.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;

TEST_CASE("the published test vectors of SHA-256 are met") {
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu") ==
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST_CASE("a million times the letter a has the published digest") {
  Sha256 sha;
  for (int i = 0; i < 1000; ++i) sha.update(std::string(1000, 'a'));
  CHECK(sha.hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the digest does not depend on how the bytes are cut") {
  std::string bytes;  // of which no two blocks are equal
  for (int i = 0; i < 1300; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  const std::string whole = sha256_of(bytes);
  // What sha256sum says.
  CHECK(whole == "5525f6744725c753db17f7b3827c4c380122cfc873f6330d67f0159f6afe160f");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    Sha256 sha;
    sha.update(bytes.substr(0, cut));
    sha.update(bytes.substr(cut));
    REQUIRE(sha.hex() == whole);
  }
}

TEST_CASE("a file has the digest of its bytes, whatever its length") {
  support::TempDir folder;
  for (const std::size_t length : {0ul, 1ul, 55ul, 56ul, 64ul, 65535ul, 65536ul, 200001ul}) {
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * i);
    INFO(length);
    CHECK(sha256_of_file(folder.write("data", bytes)) == sha256_of(bytes));
  }
}

TEST_CASE("a file that cannot be read has no digest") {
  support::TempDir folder;
  const std::string missing = (folder.path() / "none").string();
  CHECK(message_of([&] { sha256_of_file(missing); }) ==
        missing + ": cannot be read: No such file or directory");
  CHECK(message_of([&] { sha256_of_file(folder.path().string()); }) ==
        folder.path().string() + ": cannot be read: it is a folder");
}
