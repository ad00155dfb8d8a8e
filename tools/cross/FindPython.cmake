# FindPython.cmake: stands in for CMake's own when a wheel is built for another CPython or another processor, where the
# interpreter that builds is not the one that will import. `tools/wheels.py` passes the version, the headers and the name
# that a module has there; the building interpreter only answers where nanobind and numpy lie.
#
#   POISE_TARGET_PYTHON   3.11, 3.13: whose headers these are
#   POISE_TARGET_HEADERS  the folders of Python.h and of the processor's pyconfig.h
#   POISE_TARGET_SOABI    cpython-311-x86_64-linux-gnu: what stands in a module's name
#   POISE_STABLE_ABI      ON for one module that every CPython from 3.12 imports
foreach(needed Python_EXECUTABLE POISE_TARGET_PYTHON POISE_TARGET_HEADERS POISE_TARGET_SOABI)
  if(NOT ${needed})
    message(FATAL_ERROR "${needed} is not given; this file is used by tools/wheels.py alone.")
  endif()
endforeach()
set(Python_FOUND TRUE)
set(Python_INTERPRETER_ID Python)
set(Python_VERSION "${POISE_TARGET_PYTHON}")
string(REPLACE "." ";" parts "${POISE_TARGET_PYTHON}")
list(GET parts 0 Python_VERSION_MAJOR)
list(GET parts 1 Python_VERSION_MINOR)
set(Python_INCLUDE_DIRS "${POISE_TARGET_HEADERS}")
set(Python_SOABI "${POISE_TARGET_SOABI}")
set(Python_SOSABI abi3)
add_executable(Python::Interpreter IMPORTED)
set_target_properties(Python::Interpreter PROPERTIES IMPORTED_LOCATION "${Python_EXECUTABLE}")
add_library(Python::Module INTERFACE IMPORTED)
target_include_directories(Python::Module INTERFACE ${Python_INCLUDE_DIRS})
if(POISE_STABLE_ABI)
  add_library(Python::SABIModule INTERFACE IMPORTED)
  target_include_directories(Python::SABIModule INTERFACE ${Python_INCLUDE_DIRS})
endif()
