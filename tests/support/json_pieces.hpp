#pragma once
#include <string>
#include <vector>

namespace support {

/// What fuzzers put into JSON headers and configurations of models.
inline const std::vector<std::string> kJsonPieces = {"{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     ",",
                                                     ":",
                                                     "\"",
                                                     "-1",
                                                     "0",
                                                     "1e99",
                                                     "1e999",
                                                     "null",
                                                     "\"F64\"",
                                                     "\"shape\"",
                                                     "\"data_offsets\"",
                                                     "true",
                                                     "\xff",
                                                     "\\u0000",
                                                     "\"dtype\"",
                                                     "18446744073709551615",
                                                     "9223372036854775808",
                                                     "2.5"};

}  // namespace support
