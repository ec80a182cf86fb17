#pragma once
#include <vector>

#include "kernels/device/types.hpp"
#include "kernels/log/device_log.hpp"

/// Attention over paged KV. T tokens of S sequences; sequence s owns the query tokens
/// [query_start[s], query_start[s + 1]), the last of its context[s] tokens.
namespace kernels::gpu {

/// Cosines and sines of a step's tokens, for all layers, in float32 and multiplied by `scale`. The
/// angle is float(position) * inverse_frequencies[i]; the table of frequencies includes their
/// scaling (llama3).
struct Rotations {
  int tokens = 0;                              // T
  int pairs = 0;                               // head_dim / 2
  const std::int32_t* positions = nullptr;     // [T]; no kernel of the step writes it
  const float* inverse_frequencies = nullptr;  // [pairs]
  float scale = 1;
  float* out = nullptr;  // [T][pairs][2]: cosine, sine; 16-byte aligned
};
void compute_rotations(const Rotations& op, cudaStream_t stream);

/// Adds biases to the fused projection, normalizes query and key heads by RMSNorm (in float32, as
/// Qwen3 does before the rotation), rotates queries and keys, and stores keys and values in their
/// sequence's blocks at slot positions[t].
///
/// Rotary embedding pairs dimension i with i + head_dim / 2 (the layout of Hugging Face's Llama).
struct AppendKv {
  Type type = Type::bf16;
  HeadShape shape;
  int tokens = 0;       // T
  void* qkv = nullptr;  // [T][qkv_width] of type; queries are biased and rotated in place; so are
                        // keys and values with keep_contiguous, otherwise they are unchanged
  bool keep_contiguous = false;      // for prefill attention that reads keys and values from qkv
  const void* bias = nullptr;        // [qkv_width] of type, or none
  const void* query_norm = nullptr;  // [head_dim] of type, or none: no norm
  const void* key_norm = nullptr;    // likewise
  float norm_eps = 0;
  const float* rotations = nullptr;         // [T][head_dim / 2][2] of compute_rotations(); none: no
                                            // rotation
  const std::int32_t* positions = nullptr;  // [T]
  const std::int32_t* sequence = nullptr;   // [T] row of the block table; negative: padding,
                                            // nothing is stored
  PagedKv kv;                               // arena none: nothing is stored
  const AccessLog* log = nullptr;           // none: nothing is logged
};
void append_kv(const AppendKv& op, cudaStream_t stream);
/// Warps of a token's CTA, and most records of one of them in an access log.
int append_kv_warps(const HeadShape& shape);
int append_kv_records(const HeadShape& shape);

/// A work item of prefill attention: a run of query tokens of one sequence.
struct PrefillTile {
  std::int32_t sequence;
  std::int32_t first;  // query token, counted from query_start[sequence]
};

/// Query tokens of one tile; rows of the tile are (token, head in group).
int prefill_tile_tokens(const HeadShape& shape);

/// Some keys of the rows of one tile that share a key head. Parts of an item leave their sums in
/// the workspace, and the last one that is done merges them.
struct PrefillPart {
  std::int32_t item;        // tile * kv_heads + key head
  std::int32_t begin, end;  // tiles of 128 keys; begins and ends with a segment (segments.hpp)
  std::int32_t slot;        // the item's first one in the workspace
  std::int32_t cut;         // segments of the item's first part
};

/// The work of prefill attention.
struct PrefillPlan {
  std::vector<PrefillTile> tiles;  // ordered by falling number of keys, so that the last are short
  std::vector<PrefillPart> parts;  // empty: CTAs take whole items, which is as fast, or all that
                                   // the device's kernel can do
};
/// CTAs that may share items; 0 on devices whose kernel cannot.
int prefill_sharers();
/// The tiles of all sequences in `sequences`, for `sharers` CTAs. `query_start` and `context` are
/// on the host.
PrefillPlan plan_prefill(const HeadShape& shape, const std::vector<std::int32_t>& query_start,
                         const std::vector<std::int32_t>& context,
                         const std::vector<std::int32_t>& sequences, int sharers);
/// Most parts of a plan.
int most_prefill_parts(int sharers);
/// For the sums of parts: 144 MB for 132 sharers and heads of 128.
std::size_t prefill_workspace_bytes(const HeadShape& shape, int sharers);

/// Where prefill attention reads keys and values from.
enum class KvSource : std::uint8_t {
  paged,
  contiguous,  // from the fused projection's rows; whole prompts only: context[s] query tokens each
};

/// Causal attention of prompt chunks on tensor cores: FlashAttention-2 (arXiv 2307.08691), or
/// FlashAttention-3 (arXiv 2407.08608) on compute capability 9.0 when compiled for sm_90a. A row's
/// result is bitwise the same for any chunking of its prompt, for both sources, and with and
/// without a log. Another device or the portable kernel may round differently.
struct PrefillAttention {
  Type type = Type::bf16;
  HeadShape shape;
  KvSource source = KvSource::paged;
  int tiles = 0;
  const PrefillTile* tile_list = nullptr;     // [tiles] of plan_prefill()
  int parts = 0;                              // length of its parts
  const PrefillPart* part_list = nullptr;     // [parts]
  int sharers = 0;                            // that the plan and the workspace were made for
  void* workspace = nullptr;                  // with parts: prefill_workspace_bytes(), zero before
                                              // its first use
  const std::int32_t* query_start = nullptr;  // [S + 1]
  const std::int32_t* context = nullptr;      // [S]
  int tokens = 0;                             // T, of all sequences
  const void* qkv = nullptr;                  // [T][qkv_width] of type, from append_kv()
  PagedKv kv;                                 // paged: must already hold the chunk's own keys
  float scale = 0;                            // of the scores, 1 / sqrt(head_dim)
  void* out = nullptr;                        // [T][heads * head_dim] of type; rows of tiles only
  const AccessLog* log = nullptr;             // paged only; CTAs then take whole items
  bool portable = false;  // use the kernel that all devices run, even if there is a faster one
};
void prefill_attention(const PrefillAttention& op, cudaStream_t stream);

/// Attention of one query token per sequence. A sequence's context is split by its own length
/// alone, so its result is bitwise independent of the batch.
///
/// The device reads the sizes of the batch: a launch can be captured in a graph for `rows` and
/// replayed with any contexts and block tables, with unused rows marked by -1.
struct DecodeAttention {
  Type type = Type::bf16;
  HeadShape shape;
  int rows = 0;                               // B
  const std::int32_t* sequences = nullptr;    // [B] row of the block table; negative: padding
  const std::int32_t* query_start = nullptr;  // [S + 1]; the query token is query_start[sequence]
  const std::int32_t* context = nullptr;      // [S], its own token included
  const void* qkv = nullptr;  // [T][qkv_width] of type: from append_kv(), or with `rotations` the
                              // projection itself
  // Output of compute_rotations(), [T][head_dim / 2][2], for query tokens at position context - 1.
  // With them the kernel adds biases, normalizes and rotates queries and keys, and stores the query
  // tokens' keys and values in `kv`, as append_kv() does without a log. None: append_kv() has done
  // so, and `bias` and both norms are none, too.
  const float* rotations = nullptr;
  const void* bias = nullptr;        // as in AppendKv
  const void* query_norm = nullptr;  // likewise
  const void* key_norm = nullptr;    // likewise
  float norm_eps = 0;
  PagedKv kv;  // holds all tokens before the query token; without `rotations` also that
  float scale = 0;
  void* out = nullptr;        // [T][heads * head_dim] of type; rows of the query tokens only
  void* workspace = nullptr;  // decode_workspace_bytes(B, shape), 256-byte aligned, prepared by
                              // plan_decode() once per step
  const AccessLog* log = nullptr;
  bool whole_splits = false;  // plan_decode() cuts no split into quarters; needed with a log
  bool early = false;  // keys and values of all tokens but the last, and the plan, may be read
                       // before the previous kernel has ended: on this stream they were written
                       // before an earlier launch of decode_attention(), or before a kernel since
                       // then that waited for an event
};
/// About 17 KB per row and query head of 128: partial sums of up to kDecodeMaxSplits splits or
/// quarters of splits.
std::size_t decode_workspace_bytes(int rows, const HeadShape& shape);
/// Lists the splits of this step's contexts, or their quarters, in op.workspace, for all layers.
/// Reads rows, sequences, query_start, context, shape, workspace and whole_splits of `op`, which
/// must be the same in the launches that follow.
void plan_decode(const DecodeAttention& op, cudaStream_t stream);
void decode_attention(const DecodeAttention& op, cudaStream_t stream);

/// Keys per split of a context of `context` tokens: a multiple of 64 that gives at most
/// kDecodeMaxSplits splits.
constexpr int kDecodeMaxSplits = 32;
KERNELS_HOST_DEVICE constexpr int decode_split_length(int context) {
  constexpr int kMinLength = 512;
  const int even = (context + kDecodeMaxSplits - 1) / kDecodeMaxSplits;
  const int length = (even + 63) / 64 * 64;
  return length < kMinLength ? kMinLength : length;
}

}  // namespace kernels::gpu
