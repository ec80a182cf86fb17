"""libkvsweep_policies.so as Python sees it, and the settings of a policy that it is opened with."""
import ctypes
import os
import shutil

VERSION = 2


class Turn(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("arrival_ns", ctypes.c_int64), ("job_arrival_ns", ctypes.c_int64), ("job", ctypes.c_uint32)] + [
        (name, ctypes.c_int32) for name in (
            "number", "last", "tool", "priority", "prompt_tokens", "earlier_tokens", "output_tokens", "max_output_tokens",
            "computed_tokens", "preemptions", "pinned")]


class Setup(ctypes.Structure):
    _fields_ = [("num_blocks", ctypes.c_int32), ("block_size", ctypes.c_int32), ("values", ctypes.c_double * 4)]


class PinChange(ctypes.Structure):
    _fields_ = [("job", ctypes.c_uint32), ("blocks", ctypes.c_int32)]


def library():
    """libkvsweep_policies.so and its folder."""
    path = os.environ.get("KVSWEEP_POLICIES")
    if not path:
        program = shutil.which("kvsweep")
        path = os.path.join(os.path.dirname(os.path.realpath(program)), "libkvsweep_policies.so") if program else None
    if not path or not os.path.exists(path):
        raise RuntimeError(f"KVSWEEP_POLICY needs libkvsweep_policies.so, and there is none at {path}: name it in KVSWEEP_POLICIES"
                           if path else "KVSWEEP_POLICY needs libkvsweep_policies.so: name it in KVSWEEP_POLICIES")
    try:
        functions = ctypes.CDLL(path)
        version = functions.kvsweep_scheduler_version()
    except (OSError, AttributeError) as error:
        raise RuntimeError(f"{path} is no libkvsweep_policies.so: {error}") from None
    if version != VERSION:
        raise RuntimeError(f"{path} is of another version of kvsweep than its scheduler for vLLM")
    functions.kvsweep_open.restype = ctypes.c_void_p
    functions.kvsweep_message.restype = ctypes.c_char_p
    functions.kvsweep_front.restype = ctypes.c_int64
    return functions, os.path.dirname(os.path.realpath(path))


def lines_in(path):
    """KEY = VALUE of a policy's file, without comments and quotes."""
    with open(path, errors="replace") as file:
        lines = [line.split("#")[0].replace('"', "").strip() for line in file]
    if not any(lines) or any("\0" in line for line in lines):
        raise RuntimeError(f"KVSWEEP_POLICY: {path} is no policy's file: it has no text of KEY = VALUE")
    return [line for line in lines if line]


def settings_of(policy, changes, folder):
    """Lines for kvsweep_open."""
    lines = [f"plugin = {policy}"] if policy.endswith((".so", ".py")) else None
    if lines is None:
        folders = [os.environ.get("KVSWEEP_PROFILES", ""), *(os.path.join(folder, up) for up in ("../../../sweeps", "../share/kvsweep"))]
        paths = [policy] if policy.endswith(".toml") else [os.path.join(f, "policies", policy + ".toml") for f in folders if f]
        path = next((path for path in paths if os.path.exists(path)), None)
        if path is None:
            raise RuntimeError(f"KVSWEEP_POLICY: there is no policy {policy}; looked for {', '.join(paths)}")
        lines = lines_in(path)
    return "\n".join(lines + changes.split())


def seconds_of(text):
    """The value of KVSWEEP_POLICY_S."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds > 0:
        raise RuntimeError(f"KVSWEEP_POLICY_S is {text}; allowed: seconds above 0")
    return seconds
