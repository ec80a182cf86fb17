#include "workers/record/growing_table.hpp"

namespace worker {

void append(sweep::Table& to, const sweep::Table& rows) {
  for (std::size_t i = 0; i < to.columns.size(); ++i) {
    std::visit(
        [&](auto& all) {
          const auto& more = std::get<std::decay_t<decltype(all)>>(rows.columns[i].data);
          all.insert(all.end(), more.begin(), more.end());
        },
        to.columns[i].data);
  }
}

}  // namespace worker
