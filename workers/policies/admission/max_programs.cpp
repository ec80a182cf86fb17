// At most a fixed number of programs. A program that is admitted stays so to its end, so that the
// engine may idle while the tools of all of them run.
#include <algorithm>
#include <memory>

#include "workers/policies/admission/factory.hpp"

namespace policies {
namespace {

class MaxPrograms final : public AdmissionRule {
 public:
  explicit MaxPrograms(int limit) : limit_(limit) {}

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

std::unique_ptr<AdmissionRule> make_max_programs_admission(const AdmissionConfig& config) {
  return std::make_unique<MaxPrograms>(config.max_programs);
}

}  // namespace policies
