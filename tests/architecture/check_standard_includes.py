#!/usr/bin/env python3
"""Every file includes the headers of the standard names that it uses, although files are compiled several at a time.

    check_standard_includes.py ROOT [--expect FILE]

A name of NEEDS that a file of ours uses asks for one of its headers in that file or in a file of ours that it includes,
however far down. Prints `file:line: header: name` for every first use without one; exits with 0 when there are none or
exactly the lines of FILE.
"""
import functools
import re
import sys
from pathlib import Path

FOLDERS = ("sweeps", "kernels", "workers", "analysis", "driver")   # tests begin with what Catch2 includes, in every preset
STREAMS = "iostream|sstream|fstream|ostream|istream"
# What stands behind std:: and which headers give it: those that promise it, or include one that does by the standard.
NEEDS = {
    r"(ranges::)?(all_of|any_of|none_of|find_if|find_first_of|count_if|sort|stable_sort|lower_bound|upper_bound|"
    r"equal_range|binary_search|unique|partition|nth_element|max_element|min_element|minmax_element|transform|"
    r"replace|shuffle|set_difference|set_intersection|set_union|includes|is_sorted|clamp|adjacent_find|"
    r"copy_if|remove_if|for_each|generate|rotate|push_heap|pop_heap|make_heap|partition_point)\b": "algorithm",
    r"ranges::(find|count|copy|fill|equal|max|min|reverse|remove|search|mismatch)\b": "algorithm",
    r"array\b": "array",
    r"(from_chars|to_chars|chars_format)\b": "charconv",
    r"(sqrt|exp|exp2|expm1|log|log2|log10|log1p|pow|floor|ceil|round|lround|llround|fabs|isnan|isinf|isfinite|hypot|"
    r"fmod|erf|cos|sin|nextafter|ldexp|trunc|nearbyint|tanh)\b": "cmath",
    r"deque\b": "deque",
    r"(function|hash|greater|less|plus|reference_wrapper|ref|cref|invoke|mem_fn|not_fn|bind_front)\b":
        "functional|map|set|unordered_map|unordered_set|memory|queue",
    r"(cout|cerr|clog|cin)\b": "iostream",
    r"(multi)?map\b": "map",
    r"(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this|addressof)\b": "memory",
    r"(accumulate|iota|partial_sum|inner_product|reduce|gcd|lcm|midpoint|exclusive_scan|inclusive_scan)\b": "numeric",
    r"(optional|nullopt|make_optional)\b": "optional",
    r"(multi)?set\b": "set",
    r"(span|as_bytes|as_writable_bytes|dynamic_extent)\b": "span",
    r"(ostringstream|istringstream|stringstream)\b": "sstream",
    r"(runtime_error|logic_error|invalid_argument|out_of_range|domain_error|length_error|overflow_error)\b":
        "stdexcept|system_error|filesystem|chrono",
    r"(string|to_string|stoi|stol|stoll|stod|stoull|getline|basic_string)\b": f"string|stdexcept|system_error|filesystem|{STREAMS}",
    r"string_view\b": f"string_view|string|filesystem|stdexcept|charconv|{STREAMS}",
    r"(tuple|tie|make_tuple|forward_as_tuple|apply)\b": "tuple|map|memory|functional",
    r"unordered_(multi)?map\b": "unordered_map",
    r"(exchange|swap|pair|make_pair|as_const|index_sequence|make_index_sequence|in_place)\b":
        "utility|map|vector|string|algorithm|memory|tuple|array|optional|variant|functional|unordered_map|set|deque",
    r"(variant|visit|get_if|holds_alternative|monostate)\b": "variant",
    r"vector\b": "vector",
    r"u?int(8|16|32|64)_t\b": f"cstdint|{STREAMS}|string|vector|charconv|chrono|atomic|random|memory",
}
PATTERNS = [(re.compile(r"\bstd::(?:" + name + ")"), set(headers.split("|"))) for name, headers in NEEDS.items()]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def violations(root):
    def text_of(path):
        return (root / path).read_text(encoding="utf-8")

    @functools.lru_cache(None)
    def included(path):
        """Of the standard library, by the file and what it includes of ours; no file includes itself, however far down."""
        found = set()
        for name in INCLUDE.findall(text_of(path)):
            found |= included(name) if name.startswith(FOLDERS) and (root / name).exists() else {name}
        return found

    for file in sorted(each for folder in FOLDERS for each in (root / folder).rglob("*.[hc]pp")):
        path = file.relative_to(root).as_posix()
        code = NOT_CODE.sub(blank, text_of(path))
        for pattern, headers in PATTERNS:
            use = pattern.search(code)
            if use and not headers & included(path):
                yield f"{path}:{code.count(chr(10), 0, use.start()) + 1}: no <{'> or <'.join(sorted(headers))}>: {use.group()}"


def main():
    found = list(violations(Path(sys.argv[1])))
    expected = Path(sys.argv[3]).read_text(encoding="utf-8").splitlines() if sys.argv[2:] else []
    for line in found:
        print(line)
    for line in set(expected) - set(found):
        print("expected, and not found:", line)
    sys.exit(found != expected)


main()
