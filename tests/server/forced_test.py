"""kvsweep's logits processor for vLLM, with stand-ins for what it takes from vLLM and torch."""
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "farm"), os.path.join(HERE, "..", "..", "analysis", "python")]
from cases import case, expect, expect_equal, main

interface = types.ModuleType("vllm.v1.sample.logits_processor")
interface.AdapterLogitsProcessor = object
for name in "vllm", "vllm.v1", "vllm.v1.sample":
    sys.modules[name] = types.ModuleType(name)
sys.modules[interface.__name__] = interface
import kvsweep_forced


class Logits(list):
    def fill_(self, value):
        self[:] = [value] * len(self)


def params(**arguments):
    return types.SimpleNamespace(extra_args=arguments or None)


def greedy(process, generated):
    logits = process(generated, Logits([0.5, 0.25, 9.0, 0.125]))
    return max(range(4), key=logits.__getitem__)


@case("the logits processor makes greedy sampling generate the ids of a request, and then lets go")
def forced():
    process = kvsweep_forced.ForcedTokens().new_req_logits_processor(params(kvsweep_forced="3 0 1"))
    generated = []
    for _ in range(4):
        generated.append(greedy(process, generated))
    expect_equal(generated, [3, 0, 1, 2], "generated ids")


@case("requests without forced ids are not touched, and what are no ids is refused")
def others():
    for plain in params(), params(other=1), params(kvsweep_forced=""):
        kvsweep_forced.ForcedTokens.validate_params(plain)
        expect(kvsweep_forced.ForcedTokens().new_req_logits_processor(plain) is None, "untouched")
    for wrong in "x", "-1", "1.5":
        try:
            kvsweep_forced.ForcedTokens.validate_params(params(kvsweep_forced=wrong))
        except ValueError:
            continue
        expect(False, f"{wrong} is accepted")


if __name__ == "__main__":
    main()
