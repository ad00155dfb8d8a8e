# The CMake package of Poise: cmake -Dpoise_DIR=$(python -c "import poise; print(poise.get_cmake_dir())")
#
#   find_package(poise REQUIRED)
#   target_link_libraries(app PRIVATE poise::kernels)       # #include "kernels/...", C++20
#
#   poise_add_header(arm_ik robot.urdf FRAME tool0)         # runs `poise export` when robot.urdf changes
#   target_link_libraries(app PRIVATE arm_ik)               # #include "arm_ik.hpp", C++17
if(NOT TARGET poise::kernels)
  add_library(poise::kernels INTERFACE IMPORTED)
  set_target_properties(poise::kernels PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/.."
                                                  INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()

# Adds a library <name> with the header <name>.hpp of a robot: a file, or the name of a built-in body. The namespace is
# <name>. Python_EXECUTABLE is the Python in which Poise is installed.
function(poise_add_header name model)
  cmake_parse_arguments(PARSE_ARGV 2 given "" "FRAME" "OPTIONS")
  if(NOT given_FRAME OR given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "Type poise_add_header(<name> <robot> FRAME <frame> [OPTIONS ...]).")
  endif()
  if(NOT Python_EXECUTABLE)
    find_package(Python REQUIRED COMPONENTS Interpreter)
  endif()
  get_filename_component(file "${model}" ABSOLUTE)
  if(EXISTS "${file}")
    set(model "${file}")
  else()
    set(file "")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}_header")
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT "${folder}/${name}.hpp" DEPENDS ${file} VERBATIM
    COMMAND "${Python_EXECUTABLE}" -m poise.cli export "${model}" --frame "${given_FRAME}" --name "${name}"
            -o "${folder}/${name}.hpp" ${given_OPTIONS})
  add_custom_target(${name}_header DEPENDS "${folder}/${name}.hpp")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_header)
  target_include_directories(${name} INTERFACE "${folder}")
  target_compile_features(${name} INTERFACE cxx_std_17)
endfunction()
