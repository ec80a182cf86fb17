"""Commands under limits and in places that are not the usual ones."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from cases import case, expect_equal, expect_in, main  # noqa: E402

PROGRAM = os.environ["KVSWEEP_PROGRAM"]
SWEEP = b"""schema = 1
[sweep]
name = "tiny"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [3]
[workload]
kind = "swe_smith_like"
jobs = 3
"""


def kvsweep(folder, *words, limit=None):
    """Exit code and output of a command in a folder, with at most `limit` bytes of addresses."""
    def set_limit():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    done = subprocess.run([PROGRAM, *words], cwd=folder, preexec_fn=set_limit, stdin=subprocess.DEVNULL, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def written(folder, name=b"tiny.toml"):
    with open(os.path.join(os.fsencode(folder), name), "wb") as file:
        file.write(SWEEP)
    return name


@case("where addresses are limited, as on login nodes, commands that compute no model run")
def addresses_are_limited():
    limit = 400_000 * 1024  # ulimit -v 400000
    commands = ["plan tiny.toml", "workload tiny.toml", "policies", "keys", "run tiny.toml --archive a.h5",
                "check a.h5", "table a.h5", "compare a.h5", "status a.h5", "export a.h5 --table jobs", "pack a.h5 -o bundle",
                "verify bundle --minutes 0", "merge a.h5 a.h5 -o b.h5", "salvage a.h5 -o c.h5", "doctor"]
    with tempfile.TemporaryDirectory() as folder:
        written(folder)
        found = {words: kvsweep(folder, *words.split(), limit=limit) for words in commands}
    expect_equal({words: each for words, each in found.items() if each[0] != 0}, {}, "commands that fail")


@case("archives and sweep files whose names are not UTF-8 work as others do")
def names_are_bytes():
    with tempfile.TemporaryDirectory() as folder:
        sweep = written(folder, b"caf\xe9.toml")
        for archive in (b"a.h5", b"caf\xe9.h5"):
            code, out = kvsweep(folder, "run", sweep, "--archive", archive)
            expect_equal(code, 0, f"exit code of the run, {out}")
            expect_equal(kvsweep(folder, "check", archive)[0], 0, "exit code of check")
        expect_equal(kvsweep(folder, "check", "--equal", "a.h5", b"caf\xe9.h5")[0], 0, "the archives are equal")


@case("run-demo builds without CUDA, says so, and leaves the choice to the user and to a build folder that is there")
def demo_builds_without_cuda():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(root, "run-demo"), folder)
        os.makedirs(os.path.join(folder, "cmake"))
        with open(os.path.join(folder, "cmake", "install-packages.sh"), "w", encoding="ascii") as script:
            script.write("stage() { :; }; require_packages() { :; }; want_packages() { :; }; require_versions() { :; }\n"
                         "build_while_installing() { $1; }\nbuild_packages=(); speed_packages=(); web_packages=()\n"
                         "cmake() { echo \"cmake $*\"; [[ $1 != --build ]] || exit 1; }\n")

        def demo(**settings):
            env = {name: value for name, value in os.environ.items() if not name.startswith("KVSWEEP_")} | settings
            return subprocess.run(["bash", "run-demo"], cwd=folder, env=env, capture_output=True, text=True, check=False).stdout
        expect_in("-DKVSWEEP_CUDA=OFF", demo(), "the configuration")
        expect_in("KVSWEEP_CUDA=ON ./run-demo", demo(), "how to build with it")
        expect_in("--target kvsweep kvsweep_web\n", demo(), "what it builds, and nothing that it does not run")
        expect_in("-DKVSWEEP_CUDA=ON", demo(KVSWEEP_CUDA="ON"), "the configuration that is asked for")
        os.makedirs(os.path.join(folder, "build", "release"))
        with open(os.path.join(folder, "build", "release", "CMakeCache.txt"), "w", encoding="ascii"):
            pass
        expect_equal("KVSWEEP_CUDA" in demo(), False, "a choice where one was made")


if __name__ == "__main__":
    main()
