"""Building where nothing can be installed: what the scripts say is missing, and libraries that are fetched instead."""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "farm"))

from cases import case, expect, expect_equal, expect_in, main, skip  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(HERE))
# Commands of any login node: no apt, dpkg, sudo, compiler or library.
BASE_TOOLS = ("bash", "cat", "cut", "dirname", "env", "grep", "head", "id", "mkdir", "nproc", "printf", "sed", "sort", "tr", "uname")
FETCHED = {"boost": "Boost::program_options"}


class Account:
    """A folder, and commands that find only the programs put there."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="kvs")
        self.tools = os.path.join(self.folder, "bin")
        os.mkdir(self.tools)
        for name in BASE_TOOLS:
            if found := shutil.which(name):
                os.symlink(found, os.path.join(self.tools, name))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def file(self, name):
        return os.path.join(self.folder, name)

    def run_script(self, name, **variables):
        env = {"PATH": self.tools, "HOME": self.folder, **variables}
        return subprocess.run([os.path.join(self.tools, "bash"), os.path.join(SOURCE, name)], env=env,
                              cwd=self.folder, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)

    def write_project(self, name, text):
        os.mkdir(self.file(name))
        with open(self.file(name + "/CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(made_up NONE)\n" + text)

    def fetch(self, name, target, theirs, archive, sha256):
        """Configures a project that has nothing but a library of FetchCompiled, with another archive in place of its own."""
        shutil.rmtree(self.file("fetch"), ignore_errors=True)
        self.write_project("fetch", f"""list(APPEND CMAKE_MODULE_PATH "{SOURCE}/cmake")
include(FetchContent)
include(FetchCompiled)
set(kvsweep_{name}_URL "file://{archive}")
set(kvsweep_{name}_SHA256 {sha256})
kvsweep_fetch_compiled({name} {target} {theirs})
""")
        return subprocess.run(["cmake", "-S", self.file("fetch"), "-B", self.file("fetch/build"), "-G", "Ninja"],
                              capture_output=True, text=True, check=False)

    def configure(self, *options):
        """Hides the installed libraries of FETCHED."""
        modules = self.file("pkgconfig")
        os.makedirs(modules, exist_ok=True)
        for found in glob.glob("/usr/lib/*/pkgconfig/openblas.pc") + glob.glob("/usr/lib/pkgconfig/openblas.pc"):
            if not os.path.exists(os.path.join(modules, "openblas.pc")):
                os.symlink(found, os.path.join(modules, "openblas.pc"))
        if not os.listdir(modules):
            skip("OpenBLAS has no pkg-config file here")
        return subprocess.run(
            ["cmake", "-S", SOURCE, "-B", self.file("build"), "-G", "Ninja", "-DKVSWEEP_TESTS=OFF", "-DKVSWEEP_CUDA=OFF",
             "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON", *options],
            env=dict(os.environ, PKG_CONFIG_LIBDIR=modules), capture_output=True, text=True, check=False)


@case("without root and apt, run-demo and run-tests name every package that is missing, and the modules and downloads that give it")
def nothing_there():
    with Account() as account:
        for script in "run-demo", "run-tests":
            done = account.run_script(script)
            expect_equal(done.returncode, 1, f"exit code of {script}, {done}")
            for words in ("cmake", "libhdf5-dev", "libboost-program-options-dev", "spack -e slurm install",
                          "module load ", "docs/build-on-a-cluster.md"):
                expect_in(words, done.stderr, script)
            expect("apt-get install" not in done.stderr, f"there is no apt-get: {done.stderr}")
            modules = next(line for line in done.stderr.splitlines() if "module load" in line).split()[2:]
            expect({"gcc", "cmake", "ninja", "openmpi", "hdf5", "openblas"} <= set(modules), f"modules: {modules}")
            spack = next(line for line in done.stderr.splitlines() if "Spack gives" in line).rstrip(":").split()
            expect({"cmake", "openmpi", "boost"} <= set(spack), f"Spack gives: {spack}")
            expect("gcc" not in spack, f"Spack itself needs a compiler: {spack}")
            fetched = next(line for line in done.stderr.splitlines() if "KVSWEEP_FETCH_DEPS=ON" in line)
            for name in "boost", "tomlplusplus", "nlohmann-json", "catch2":
                expect_in(name, fetched.split("gives")[1], "downloads")
                expect(name not in modules, f"{name} is fetched and a module")


@case("what KVSWEEP_FETCH_DEPS gives is not called missing")
def fetched_is_not_missing():
    with Account() as account:
        done = account.run_script("run-demo", KVSWEEP_FETCH_DEPS="ON")
        expect_equal(done.returncode, 1, f"exit code, {done}")
        expect_in("libhdf5-dev", done.stderr, "standard error")
        for name in "libboost-program-options-dev", "catch2":
            expect(name not in done.stderr, f"{name}: {done.stderr}")


@case("libraries that are not installed come from the pinned archives, or from folders in place of them")
def fetched():
    with Account() as account:
        overrides = []
        for name, target in FETCHED.items():
            real = target.replace("::", "_")
            alias = f"add_library({target} ALIAS {real})\n" if real != target else ""
            account.write_project(name, f"add_library({real} INTERFACE)\n{alias}")
            overrides.append(f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}={account.file(name)}")
        done = account.configure("-DKVSWEEP_FETCH_DEPS=ON", *overrides)
        expect_equal(done.returncode, 0, f"exit code, {done}")
        expect_in("1.86.0", done.stdout, "summary")


@case("an archive is downloaded and held against its hash before anything is made of it")
def downloaded():
    with Account() as account:
        account.write_project("boost", "add_library(boost_options INTERFACE)\n")
        archive = shutil.make_archive(account.file("boost"), "gztar", account.folder, "boost")
        with open(archive, "rb") as file:
            right = hashlib.sha256(file.read()).hexdigest()
        done = account.fetch("boost", "Boost::options", "boost_options", archive, right)
        expect_equal(done.returncode, 0, f"exit code, {done}")
        done = account.fetch("boost", "Boost::options", "boost_options", archive, "0" * 64)
        expect(done.returncode != 0, f"exit code, {done}")
        expect_in(right, done.stderr, "message")


@case("a folder that is not the archive's is refused by its name, before anything is built")
def wrong_folder():
    with Account() as account:
        account.write_project("boost", "")
        done = account.configure("-DKVSWEEP_FETCH_DEPS=ON",
                                 f"-DFETCHCONTENT_SOURCE_DIR_BOOST={account.file('boost')}")
        expect(done.returncode != 0, f"exit code, {done}")
        expect_in("defines no target Boost::program_options", done.stderr, "message")


@case("without KVSWEEP_FETCH_DEPS the configure step names what is missing once, and downloads nothing")
def not_fetched():
    with Account() as account:
        done = account.configure()
        expect(done.returncode != 0, f"exit code, {done}")
        for word in ("libboost-program-options-dev", "KVSWEEP_FETCH_DEPS"):
            expect_in(word, done.stderr, "message")
        expect(not os.path.exists(account.file("build/_deps/boost-subbuild")), "something was downloaded")


if __name__ == "__main__":
    main()
