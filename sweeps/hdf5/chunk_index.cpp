#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sweeps/hdf5/bytes.hpp"

namespace sweep {

namespace {

constexpr std::uint64_t kNothing = ~std::uint64_t{0};
constexpr std::size_t kMostDimensions = 3;  // rows, width, bytes of an element

/// A dataset's chunks as its layout message (version 3, chunked) describes them.
struct Layout {
  std::uint64_t root = kNothing;  // address of the tree's first node
  std::size_t dimensions = 0;     // those of the dataset plus one for the bytes of an element
  std::array<std::uint64_t, kMostDimensions> chunk{};  // elements; bytes in the last
};

struct Key {
  std::uint64_t bytes = 0, skipped_filters = 0;
  std::array<std::uint64_t, kMostDimensions> offset{};  // position of the chunk's first element
};

[[noreturn]] void fail_index(std::uint64_t node, const std::string& what) {
  throw H5Error("the index of chunks at byte " + std::to_string(node) + " " + what);
}

/// Walks one tree from left to right.
class Tree {
 public:
  Tree(FileBytes file, const Layout& layout) : file_(file), layout_(layout) {}

  void check() {
    visit(layout_.root, number_at(node_at(layout_.root), 5, 1), nullptr, nullptr);
    for (const auto& [level, last] : last_)
      if (number_at(node_at(last), kRight, 8) != kNothing) fail_index(last, "has no right end");
  }

  /// What was visited, also by a check that failed: the nodes' addresses, and the stored chunks.
  const std::set<std::uint64_t>& nodes() const { return seen_; }
  const std::vector<FileBytes>& chunks() const { return chunks_; }
  /// The part of a node that has a meaning, by its own count of children.
  FileBytes used_part(std::uint64_t node) const {
    const FileBytes rest = node_at(node);
    const std::uint64_t children = std::min(number_at(rest, 6, 2), kMostChildren);
    return rest.first(
        std::min(rest.size(), kLead + children * (key_bytes() + kAddress) + key_bytes()));
  }

 private:
  static constexpr std::size_t kLead = 24, kLeft = 8, kRight = 16, kAddress = 8;
  static constexpr std::uint64_t kMostChildren = 64, kChunks = 1, kMostLevels = 16;

  FileBytes node_at(std::uint64_t address) const {
    if (address >= file_.size() || file_.size() - address < kLead)
      fail_index(address, "ends the file");
    return file_.subspan(address);
  }

  std::size_t key_bytes() const { return 8 + 8 * layout_.dimensions; }

  Key key(FileBytes node, std::uint64_t number) const {
    const std::size_t at = kLead + number * (key_bytes() + kAddress);
    Key key{number_at(node, at, 4), number_at(node, at + 4, 4), {}};
    for (std::size_t i = 0; i < layout_.dimensions; ++i)
      key.offset[i] = number_at(node, at + 8 + 8 * i, 8);
    return key;
  }

  /// Chunks follow each other in the first dimension and span the others.
  void check_key(std::uint64_t address, const Key& key, bool is_end) const {
    for (std::size_t i = 0; i < layout_.dimensions; ++i) {
      const std::uint64_t chunk = layout_.chunk[i], offset = key.offset[i];
      const bool fits = i == 0 ? offset % chunk == 0 : offset == 0 || (is_end && offset == chunk);
      if (!fits) fail_index(address, "has a chunk in no place of one");
    }
    if (key.skipped_filters != 0) fail_index(address, "has a chunk that skips filters");
    if (!is_end && key.bytes == 0) fail_index(address, "has a chunk of no bytes");
  }

  static bool same(const Key& a, const Key& b) {
    return a.bytes == b.bytes && a.offset == b.offset && a.skipped_filters == b.skipped_filters;
  }

  /// `left` and `right` are the parent's keys on either side; null for the root.
  void visit(std::uint64_t address, std::uint64_t level, const Key* left, const Key* right) {
    const FileBytes node = node_at(address);
    if (!seen_.insert(address).second) fail_index(address, "is part of two");
    if (number_at(node, 0, 4) != 0x45455254) fail_index(address, "does not begin with TREE");
    const std::uint64_t children = number_at(node, 6, 2);
    const bool fits = number_at(node, 4, 1) == kChunks && number_at(node, 5, 1) == level &&
                      level <= kMostLevels && children > 0 && children <= kMostChildren &&
                      node.size() >= kLead + children * (key_bytes() + kAddress) + key_bytes();
    if (!fits) fail_index(address, "says what none does");
    check_neighbors(address, level, node);
    if (left != nullptr && !same(key(node, 0), *left))
      fail_index(address, "begins in another place");
    // HDF5 leaves the size in a last key as it is when the chunk to the right is written again;
    // only the first key of the next node has it.
    if (right != nullptr && key(node, children).offset != right->offset)
      fail_index(address, "ends elsewhere");
    for (std::uint64_t i = 0; i < children; ++i) visit_child(address, node, level, i, children);
  }

  void check_neighbors(std::uint64_t address, std::uint64_t level, FileBytes node) {
    const auto before = last_.find(level);
    const std::uint64_t left = before == last_.end() ? kNothing : before->second;
    if (number_at(node, kLeft, 8) != left) fail_index(address, "has another left neighbor");
    if (left != kNothing && number_at(node_at(left), kRight, 8) != address)
      fail_index(left, "has another right neighbor");
    last_[level] = address;
  }

  void visit_child(std::uint64_t address, FileBytes node, std::uint64_t level, std::uint64_t number,
                   std::uint64_t children) {
    const Key from = key(node, number), to = key(node, number + 1);
    const bool last = number + 1 == children;
    check_key(address, from, false);
    check_key(address, to, last && to.bytes == 0);
    if (to.offset <= from.offset) fail_index(address, "has chunks out of order");
    const std::size_t at = kLead + number * (key_bytes() + kAddress) + key_bytes();
    const std::uint64_t child = number_at(node, at, kAddress);
    if (level > 0) return visit(child, level - 1, &from, &to);
    const std::uint64_t beyond = to.offset[0] - from.offset[0];
    if (last && to.bytes == 0 && beyond != 0 && beyond != layout_.chunk[0])
      fail_index(address, "ends far behind its last chunk");
    if (child >= file_.size() || from.bytes > file_.size() - child)
      fail_index(address, "has a chunk beyond the end of the file");
    chunks_.push_back(file_.subspan(child, from.bytes));
  }

  FileBytes file_;
  const Layout& layout_;
  std::map<std::uint64_t, std::uint64_t> last_;  // level -> the node visited last
  std::set<std::uint64_t> seen_;
  std::vector<FileBytes> chunks_;
};

/// The root is kNothing if the message describes another kind of layout.
Layout layout_in(FileBytes message) {
  constexpr std::uint64_t kVersion = 3, kChunked = 2;
  Layout layout;
  if (number_at(message, 0, 1) != kVersion || number_at(message, 1, 1) != kChunked) return layout;
  layout.dimensions = number_at(message, 2, 1);
  if (layout.dimensions < 2 || layout.dimensions > kMostDimensions)
    throw H5Error("a table has an unexpected shape");
  layout.root = number_at(message, 3, 8);
  for (std::size_t i = 0; i < layout.dimensions; ++i) {
    layout.chunk[i] = number_at(message, 11 + 4 * i, 4);
    if (layout.chunk[i] == 0) throw H5Error("a table has chunks of no size");
  }
  return layout;
}

/// Repairs indices until its budget of visited nodes is used up.
class ChunkIndexRepair {
 public:
  explicit ChunkIndexRepair(FileBytes file) : file_(file) {}

  int count() const { return count_; }

  /// Flips the bit of the tree's nodes that makes the tree and all its chunks whole, if one does.
  void flip_wrong_bit(const Layout& layout) {
    std::size_t suspect = 0;
    if (is_whole(layout, suspect)) return;
    const Tree damaged = visited(layout);
    for (const std::uint64_t node : damaged.nodes()) {
      for (unsigned char& byte : damaged.used_part(node)) {
        for (int bit = 0; bit < 8; ++bit) {
          if (budget_ < damaged.nodes().size()) return;
          budget_ -= damaged.nodes().size();
          byte = static_cast<unsigned char>(byte ^ 1 << bit);
          if (is_whole(layout, suspect)) {
            ++count_;
            return;
          }
          byte = static_cast<unsigned char>(byte ^ 1 << bit);
        }
      }
    }
  }

 private:
  Tree visited(const Layout& layout) const {
    Tree tree(file_, layout);
    try {
      tree.check();
    } catch (const H5Error&) {
      // Visited as far as it is whole.
    }
    return tree;
  }

  /// `suspect` is the chunk to look at first; set to the first damaged one.
  bool is_whole(const Layout& layout, std::size_t& suspect) const {
    Tree tree(file_, layout);
    try {
      tree.check();
    } catch (const H5Error&) {
      return false;
    }
    const std::vector<FileBytes>& chunks = tree.chunks();
    if (suspect < chunks.size() && !has_fletcher32(chunks[suspect])) return false;
    const auto damaged = std::ranges::find_if_not(chunks, has_fletcher32);
    suspect = static_cast<std::size_t>(damaged - chunks.begin());
    return damaged == chunks.end();
  }

  FileBytes file_;
  int count_ = 0;
  std::uint64_t budget_ = std::uint64_t{1} << 22;  // about 10 s
};

}  // namespace

int repair_chunk_indices(FileBytes file) {
  constexpr std::uint64_t kHeader = 0x5244484f, kLayout = 0x08;  // "OHDR"
  ChunkIndexRepair repair(file);
  for (std::size_t at = 0; at + 4 < file.size(); ++at) {
    if (number_at(file, at, 4) != kHeader) continue;
    try {
      for_each_message(file, at, [&repair](std::uint64_t type, FileBytes data) {
        if (type != kLayout) return;
        const Layout layout = layout_in(data);
        if (layout.root != kNothing) repair.flip_wrong_bit(layout);
      });
    } catch (const H5Error&) {
      // No header of a table.
    }
  }
  return repair.count();
}

void check_chunk_index(FileBytes file, std::uint64_t header) {
  constexpr std::uint64_t kLayout = 0x08;
  for_each_message(file, header, [file](std::uint64_t type, FileBytes data) {
    if (type != kLayout) return;
    const Layout layout = layout_in(data);
    if (layout.root != kNothing) Tree(file, layout).check();
  });
}

}  // namespace sweep
