#include <isa-l/igzip_lib.h>

#include <array>
#include <cstdint>

#include "sweeps/hdf5/codec.hpp"

namespace sweep {

namespace {

std::uint8_t* bytes_of(const char* text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text));
}

}  // namespace

std::string deflated(std::string_view bytes) {
  // ISA-L states no bound. It stores what does not shrink in blocks, with five bytes more for each.
  constexpr std::size_t kLeastBlock = 32768, kMoreOfBlock = 5, kHeads = 512;
  std::string out(bytes.size() + kMoreOfBlock * (bytes.size() / kLeastBlock + 2) + kHeads, '\0');
  thread_local std::array<std::uint8_t, ISAL_DEF_LVL1_DEFAULT> working;
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.level = 1;
  stream.level_buf = working.data();
  stream.level_buf_size = working.size();
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.next_in = bytes_of(bytes.data());
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  stream.next_out = bytes_of(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  out.resize(isal_deflate_stateless(&stream) == COMP_OK ? stream.total_out : 0);
  return out;
}

bool inflate_to(std::span<char> out, std::string_view bytes) {
  constexpr std::size_t kHead = 2;  // of zlib's format
  if (bytes.size() <= kHead) return false;
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_DEFLATE;
  state.next_in = bytes_of(bytes.data() + kHead);
  state.avail_in = static_cast<std::uint32_t>(bytes.size() - kHead);
  state.next_out = bytes_of(out.data());
  state.avail_out = static_cast<std::uint32_t>(out.size());
  return isal_inflate_stateless(&state) == ISAL_DECOMP_OK && state.avail_out == 0;
}

}  // namespace sweep
