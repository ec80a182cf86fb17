"""Without an access log, the kernels that access KV have the same machine code as in a build that has no log.

Usage: sass_test.py KERNEL NVCC ROOT: compiles kernels/attention/KERNEL.cu twice for sm_90a, as it is and with the log's headers
replaced by those in without_log/. Compares the code of every kernel that does not log, byte by byte; of those that log, it only
checks that they exist. Needs the compiler, but no GPU. Of the types only bfloat16 is compiled: the other differs in conversions
alone.
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77


def sections(cubin):
    """The sections of a 64-bit little-endian ELF file by name."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + i * size) for i in range(count)]
    names = headers[names_at][4]
    found = {}
    for header in headers:
        start = names + header[0]
        name = cubin[start:cubin.index(b"\0", start)].decode()
        found[name] = cubin[header[4]:header[4] + header[5]]
    return found


def kernels_in(cubin):
    """Code of each kernel by its mangled name."""
    code = {name[len(".text."):]: text for name, text in sections(cubin).items() if name.startswith(".text.")}
    assert code, "the compiler left no code"
    return code


def without_float16(root, folder):
    """A copy of launch.cuh that instantiates kernels for one type: half of the compiler's time."""
    case = "    case Type::f16:\n      return call(Tag<__half>{});\n"
    text = (root / "kernels/device/launch.cuh").read_text()
    assert case in text, "launch.cuh no longer chooses types as this test expects"
    to = folder / "kernels/device/launch.cuh"
    to.parent.mkdir(parents=True)
    to.write_text(text.replace(case, "    case Type::f16:\n"))
    return folder


def compile_kernel(nvcc, root, kernel, folders, to):
    includes = [f"-I{folder}" for folder in (*folders, root)]
    subprocess.run([nvcc, "-std=c++17", "-O3", "-arch=sm_90a", "-cubin", *includes, str(root / f"kernels/attention/{kernel}.cu"),
                    "-o", str(to)], check=True)
    return kernels_in(to.read_bytes())


def main():
    kernel, nvcc, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if not nvcc or not shutil.which(nvcc):
        print("SKIPPED: there is no nvcc to compile kernels with")
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        one_type = without_float16(root, folder / "one_type")
        real = compile_kernel(nvcc, root, kernel, [one_type], folder / "real.cubin")
        bare = compile_kernel(nvcc, root, kernel, [one_type, root / "tests/kernels/without_log"], folder / "bare.cubin")
    plain = {name: code for name, code in real.items() if "RecordLog" not in name}
    assert len(plain) < len(real), "no kernel logs: both builds are the same"
    assert len(set(plain.values())) == len(plain), "two kernels have the same code: the comparison would see nothing"
    assert plain.keys() == bare.keys(), f"kernels differ: {plain.keys() ^ bare.keys()}"
    for name, code in plain.items():
        assert len(code) > 1000, f"{name} has hardly any code"
        assert code == bare[name], f"{name}: {len(code)} bytes of code with the log, {len(bare[name])} without, not the same"
    print(f"{len(plain)} kernels without a log, {sum(map(len, plain.values()))} bytes of code, the same; "
          f"{len(real) - len(plain)} kernels log")
    return 0


sys.exit(main())
