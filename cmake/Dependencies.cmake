# Everything kvsweep builds on, as imported targets:
#   Threads::Threads  MPI::MPI_C  hdf5::hdf5  Boost::program_options  tomlplusplus::tomlplusplus
#   nlohmann_json::nlohmann_json  PkgConfig::OPENBLAS  Catch2::Catch2 (with KVSWEEP_TESTS)
#   OpenSSL::Crypto, and ${kvsweep_deflate_target} of kvsweep_deflate, which is isal or zlib
#   and, when CURL_FOUND, CURL::libcurl; when KVSWEEP_HAVE_CUDA, CUDA::cudart ...; when KVSWEEP_HAVE_NCCL, NCCL::NCCL.
# Whatever is missing is collected and reported once, with the command that installs it.
include(FetchContent)
include(HeaderOnly)
include(FetchCompiled)
set(kvsweep_missing "")

# kvsweep_require(<found?> <Debian/Ubuntu package>)
macro(kvsweep_require found package)
  if(NOT ${found})
    list(APPEND kvsweep_missing ${package})
  endif()
endmacro()

find_package(Threads REQUIRED)

find_package(PkgConfig QUIET)
kvsweep_require(PKG_CONFIG_FOUND pkg-config)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
endif()
kvsweep_require(OPENBLAS_FOUND libopenblas-dev)
find_package(Boost 1.74 QUIET CONFIG COMPONENTS program_options)
find_package(OpenSSL QUIET COMPONENTS Crypto)   # libcurl has it already
kvsweep_require(OPENSSL_FOUND libssl-dev)
find_package(CURL 7.80 QUIET)   # without it there is no backend server

if(KVSWEEP_FETCH_DEPS AND NOT Boost_FOUND)
  kvsweep_fetch_compiled(boost Boost::program_options Boost::program_options)
  set(Boost_FOUND TRUE)
  set(Boost_VERSION "${kvsweep_boost_RELEASE}")
endif()
kvsweep_require(Boost_FOUND libboost-program-options-dev)

# The C interface alone: the C++ bindings left the MPI standard, and their headers pull in a library.
find_package(MPI QUIET COMPONENTS C)
kvsweep_require(MPI_C_FOUND libopenmpi-dev)
if(MPI_C_FOUND)
  target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX)
endif()

# Archives are written by one process, so the serial library is enough; a parallel one brings MPI with it.
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 1.10 QUIET COMPONENTS C)
kvsweep_require(HDF5_FOUND libhdf5-dev)
if(HDF5_FOUND)
  target_compile_definitions(hdf5::hdf5 INTERFACE H5_USE_110_API)
  if(HDF5_IS_PARALLEL AND MPI_C_FOUND)
    target_link_libraries(hdf5::hdf5 INTERFACE MPI::MPI_C)
  endif()
endif()

# Packs pages; HDF5 needs it in any case.
find_package(ZLIB QUIET)
kvsweep_require(ZLIB_FOUND zlib1g-dev)

# What packs and unpacks the chunks of archives: ISA-L, or zlib.
option(KVSWEEP_FAST_DEFLATE "Pack archives with ISA-L, if it is installed" ON)
if(KVSWEEP_FAST_DEFLATE AND PKG_CONFIG_FOUND)
  pkg_check_modules(ISAL QUIET IMPORTED_TARGET libisal)
endif()
if(ISAL_FOUND)
  set(kvsweep_deflate isal)
  set(kvsweep_deflate_target PkgConfig::ISAL)
else()
  set(kvsweep_deflate zlib)
  set(kvsweep_deflate_target ZLIB::ZLIB)
endif()

kvsweep_find_header_only(tomlplusplus tomlplusplus::tomlplusplus 3.3 libtomlplusplus-dev)
kvsweep_find_header_only(nlohmann_json nlohmann_json::nlohmann_json 3.9 nlohmann-json3-dev)
if(KVSWEEP_TESTS)
  kvsweep_find_header_only(Catch2 Catch2::Catch2 2.13 catch2)
endif()

if(kvsweep_missing)
  list(JOIN kvsweep_missing " " packages)
  message(FATAL_ERROR
    "kvsweep cannot be built: libraries are missing. On Debian 12 or Ubuntu 24.04 this installs them:\n"
    "  apt-get install ${packages}\n"
    "Elsewhere, point CMAKE_PREFIX_PATH (and PKG_CONFIG_PATH) to them. -DKVSWEEP_FETCH_DEPS=ON downloads and builds "
    "all but MPI, HDF5 and OpenBLAS. docs/build-on-a-cluster.md has the ways without root.")
endif()

include(Cuda)
