#include "sweeps/archive/file.hpp"
#include "sweeps/archive/format.hpp"

namespace sweep {

namespace {

constexpr const char* kRecovery = "recovery";
// Damage to a chunk costs at most this many records.
constexpr std::size_t kChunkCells = 64;

Table head_table(const ArchiveHead& head) {
  using Texts = std::vector<std::string>;
  return {"head",
          {{"sweep_name", "", "name of the sweep", false, {}, Texts{head.sweep_name}},
           {"spec_text", "", "the sweep file", false, {}, Texts{head.spec_text}},
           {"created_utc", "", "when the archive was made", true, {}, Texts{head.created_utc}},
           {"tool_version", "", "what wrote it last", true, {}, Texts{head.tool_version}}}};
}

}  // namespace

void write_recovery(hid_t file, const ArchiveHead& head, const CellsTable& cells) {
  H5Group group = create_group(file, kRecovery);
  write_packed_table(group.get(), head_table(head));
  write_packed_cells(group.get(), cells, kChunkCells);
  for (const char* copy : {"head", "cells"}) {
    H5Dataset dataset(H5Dopen2(group.get(), copy, H5P_DEFAULT), "open a copy");
    write_attribute(dataset.get(), "volatile",
                    std::int64_t{1});  // some of its columns are volatile
    dataset.close_checked("close a copy");
  }
  group.close_checked("close the group recovery");
}

ArchiveIndex read_recovery(hid_t file) {
  const H5Group group(H5Gopen2(file, kRecovery, H5P_DEFAULT), "open the group recovery");
  const Table head = read_packed_table(group.get(), "head");
  const auto text = [&head](const char* column) { return head.values<std::string>(column).at(0); };
  ArchiveIndex index;
  index.head = {text("sweep_name"), text("spec_text"), text("created_utc"), text("tool_version")};
  index.cells = to_records(read_packed_cells(group.get()));
  return index;
}

}  // namespace sweep
