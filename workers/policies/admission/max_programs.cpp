// At most a fixed number of programs. A program that is admitted stays so to its end, so that the
// engine may idle while the tools of all of them run.
#include <algorithm>

#include "workers/policies/admission/config.hpp"

namespace policies {
namespace {

class MaxPrograms final : public AdmissionRule {
 public:
  explicit MaxPrograms(const AdmissionConfig& config) : limit_(config.max_programs) {}

  void on_change(Programs programs, engine::Nanos) override {
    auto admitted = std::ranges::count_if(programs, &Program::admitted);
    for (Program* program : programs) {
      if (!program->held() || admitted == limit_) return;
      program->admitted = true;
      ++admitted;
    }
  }
  bool may_idle() const override { return true; }

 private:
  std::ptrdiff_t limit_;
};

}  // namespace

AdmissionEntry max_programs_admission() {
  return {"max_programs", AdmissionEntry::makes<MaxPrograms>};
}

}  // namespace policies
