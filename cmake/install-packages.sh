# shellcheck shell=bash disable=SC2034
# Sourced by run-demo and run-tests: what must be installed, how to tell that it is, how to get it.
# On Debian and Ubuntu dpkg is asked first, which takes milliseconds; what dpkg does not know of may still come from
# elsewhere (environment modules, a prefix on CMAKE_PREFIX_PATH), so a probe for the tool or the header decides.

build_packages=(build-essential cmake ninja-build pkg-config git ca-certificates libopenmpi-dev openmpi-bin libhdf5-dev
                libboost-program-options-dev libtomlplusplus-dev catch2 nlohmann-json3-dev libopenblas-dev
                libssl-dev libcurl4-openssl-dev)
# Tests that need one of these skip, saying so, where it is missing. The formatting is what clang-format 14 makes of it.
test_packages=(clang-format-14 python3 python3-pip python3-h5py python3-numpy python3-pandas python3-xarray python3-h5netcdf
               python3-matplotlib
               slurmctld slurmd slurm-client munge
               chromium)
# Archives are packed several times faster with this than with zlib.
speed_packages=(libisal-dev)
# The web pages are built with these; without them there is everything else.
web_packages=(nodejs npm)
# What Spack itself needs; slurm/spack.yaml gives all else that is built with.
system_packages=(build-essential git ca-certificates)
# KVSWEEP_FETCH_DEPS=ON downloads, and where need be builds, these instead.
fetched_packages=(libtomlplusplus-dev catch2 nlohmann-json3-dev libboost-program-options-dev)

stage() { echo "== $1 (after $SECONDS s)"; }

has_tool() { command -v "$1" >/dev/null 2>&1; }
has_module() { has_tool pkg-config && pkg-config --exists "$1"; }
has_python_module() { python3 -c "import $1" >/dev/null 2>&1; }
has_header() {
  local prefix prefixes=${CMAKE_PREFIX_PATH:-} flags=()
  for prefix in ${prefixes//:/ }; do flags+=("-I$prefix/include"); done
  echo "#include <$1>" | "${CXX:-c++}" -std=c++20 -E -x c++ "${flags[@]}" - >/dev/null 2>&1
}

# found PACKAGE: what the package is for can be had without it. Prints nothing.
found() {
  case $1 in
    build-essential) has_tool "${CXX:-c++}" && has_tool "${CC:-cc}" ;;
    cmake | git | python3) has_tool "$1" ;;
    ninja-build) has_tool ninja ;;
    nodejs) has_tool node ;;
    npm | chromium) has_tool "$1" ;;
    pkg-config) has_tool pkg-config ;;
    ca-certificates) [ -d /etc/ssl/certs ] || [ -d /etc/pki/tls ] ;;
    libopenmpi-dev) has_tool mpicc ;;
    openmpi-bin) has_tool mpirun ;;
    libhdf5-dev) has_tool h5cc || has_module hdf5 || has_header hdf5.h ;;
    libboost-program-options-dev) has_header boost/program_options.hpp ;;
    libtomlplusplus-dev) has_header toml++/toml.h ;;
    catch2) has_header catch2/catch_all.hpp || has_header catch2/catch.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    libopenblas-dev) has_module openblas ;;
    libssl-dev) has_header openssl/evp.h ;;
    libisal-dev) has_module libisal ;;
    # Only backend server needs it: where nothing can be installed, the rest is built without.
    libcurl4-openssl-dev) has_header curl/curl.h || ! can_install ;;
    clang-format-14) has_tool clang-format-14 || clang-format --version 2>/dev/null | grep -q 'version 14\.' ;;
    python3-*) has_python_module "${1#python3-}" ;;
    slurmctld | slurmd) has_tool "$1" || [ -x "/usr/sbin/$1" ] ;;
    slurm-client) has_tool sbatch ;;
    munge) has_tool munged || [ -x /usr/sbin/munged ] ;;
    *) return 1 ;;
  esac
}

# missing_of PACKAGE...: prints those that are not there.
missing_of() {
  local package installed=""
  if has_tool dpkg-query; then   # its exit status says only that some are not known
    installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  fi
  for package in "$@"; do
    case $installed in *" installed:$package "*) continue ;; esac
    if [[ ${KVSWEEP_FETCH_DEPS:-} == ON && " ${fetched_packages[*]} " == *" $package "* ]]; then continue; fi
    found "$package" || echo "$package"
  done
}

# as_root COMMAND...: runs it as root, if that needs no password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
  has_tool apt-get && { [ "$(id -u)" -eq 0 ] || { has_tool sudo && sudo -n true 2>/dev/null; }; }
}

apt_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
  if [ -z "${apt_updated:-}" ]; then
    as_root "${apt[@]}" update </dev/null || echo "note: apt-get update failed; going on with the package lists that are here"
    apt_updated=yes
  fi
  as_root "${apt[@]}" install -y --no-install-recommends "$@" </dev/null >/dev/null
}

# module_of PACKAGE: what clusters and Spack call it.
module_of() {
  case $1 in
    build-essential) echo gcc ;;
    ninja-build) echo ninja ;;
    pkg-config) echo pkgconf ;;
    libopenmpi-dev | openmpi-bin) echo openmpi ;;
    libhdf5-dev) echo hdf5 ;;
    libopenblas-dev) echo openblas ;;
    libboost-program-options-dev) echo boost ;;
    libtomlplusplus-dev) echo tomlplusplus ;;
    catch2) echo catch2 ;;
    nlohmann-json3-dev) echo nlohmann-json ;;
    libisal-dev) echo isa-l ;;
    libssl-dev) echo openssl ;;
    libcurl4-openssl-dev) echo curl ;;
    *) echo "$1" ;;
  esac
}

# Explains what is missing where nothing can be installed for the user, and which way gives what.
say_missing() {
  local package modules=() fetched=() spack=() system=()
  echo "Missing, by their Debian and Ubuntu names: $*"
  if has_tool apt-get; then
    echo "This needs root, and sudo is not there or asks for a password. As root, this installs them:"
    echo "  apt-get update && apt-get install -y --no-install-recommends $*"
  fi
  for package in "$@"; do
    case " ${fetched_packages[*]} " in
      *" $package "*) fetched+=("$(module_of "$package")") ;;
      *) modules+=("$(module_of "$package")") ;;
    esac
    case " ${system_packages[*]} " in
      *" $package "*) system+=("$(module_of "$package")") ;;
      *) spack+=("$(module_of "$package")") ;;
    esac
  done
  mapfile -t modules < <(printf '%s\n' "${modules[@]}" | sort -u)
  mapfile -t spack < <(printf '%s\n' "${spack[@]}" | sort -u)
  echo "Without root there are two ways (docs/build-on-a-cluster.md):"
  if [ -n "${spack[*]}" ]; then
    echo "1. Spack gives ${spack[*]}:"
    echo "     spack -e slurm install && eval \"\$(spack env activate --sh -d slurm)\""
  fi
  [ ${#system[@]} -eq 0 ] || echo "   Spack itself needs ${system[*]}, from the system or a module."
  echo "2. Modules and downloads:"
  [ -z "${modules[*]}" ] || echo "     module load ${modules[*]}"
  [ ${#fetched[@]} -eq 0 ] || echo "     export KVSWEEP_FETCH_DEPS=ON     # gives ${fetched[*]}"
  echo "   What lies in a prefix of its own is found through CMAKE_PREFIX_PATH and PKG_CONFIG_PATH. Then run this again."
}

# Everything the build cannot do without: installed, or a list of what is missing and exit status 1.
require_packages() {
  local missing
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -eq 0 ] && return
  if ! can_install; then say_missing "${missing[@]}" >&2; return 1; fi
  echo "Installing: ${missing[*]}"
  apt_install "${missing[@]}" || { echo "apt-get could not install: ${missing[*]}" >&2; return 1; }
}

# Installed where possible; otherwise a note, for the tests that need them skip.
want_packages() {
  local missing package available=()
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -eq 0 ] && return
  if can_install; then
    for package in "${missing[@]}"; do
      if apt-cache show "$package" >/dev/null 2>&1; then available+=("$package"); fi
    done
    if [ ${#available[@]} -gt 0 ]; then
      echo "Installing: ${available[*]}"
      apt_install "${available[@]}" || true
    fi
    mapfile -t missing < <(missing_of "$@")
    [ ${#missing[@]} -eq 0 ] && return
  fi
  echo "Not installed, so what needs them is left out, and its tests skip: ${missing[*]}"
}

# want_from_pypi FOLDER PACKAGE...: in a folder of their own, which is kept; otherwise a note, for the tests that need them skip.
want_from_pypi() {
  local folder=$1
  shift
  [ ! -d "$folder" ] || return 0
  echo "Installing from PyPI: $*"
  if timeout 120 python3 -m pip install -q --retries 1 --timeout 10 --target "$folder.partial" "$@" >/dev/null 2>&1; then
    mv "$folder.partial" "$folder"
  else
    rm -rf "$folder.partial"
    echo "Not installed, so tests that need them skip: $*"
  fi
}

# build_while_installing BUILD PACKAGE...: calls the function BUILD while the packages are installed, which it can do without, and once
# more for what they add if one was missing.
build_while_installing() {
  local build=$1 installer
  shift
  if [ -z "$(missing_of "$@")" ]; then "$build"; return; fi
  said=$(mktemp)
  want_packages "$@" >"$said" 2>&1 &
  installer=$!
  trap "wait; rm -f $said" EXIT
  "$build"
  stage "what other packages add"
  wait "$installer"
  cat "$said"
  "$build"
}

# Debian 12 and Ubuntu 24.04 bring tools that are new enough; elsewhere the first error would be hard to read.
require_versions() {
  local cmake_version gcc_version
  cmake_version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  if [ "$(printf '%s\n' 3.25 "$cmake_version" | sort -V | head -n 1)" != 3.25 ]; then
    echo "cmake $cmake_version is too old: kvsweep needs 3.25 or later" >&2
    return 1
  fi
  gcc_version=$("${CXX:-c++}" -dumpversion 2>/dev/null)
  if "${CXX:-c++}" --version | grep -q 'Free Software Foundation' && [ "${gcc_version%%.*}" -lt 12 ]; then
    echo "$(command -v "${CXX:-c++}") is GCC $gcc_version: kvsweep needs 12 or later (set CXX and CC)" >&2
    return 1
  fi
}
