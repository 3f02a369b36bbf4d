# The static one; Debian's own configuration names the shared one.
find_library(yaml-cpp_LIBRARY libyaml-cpp.a REQUIRED)
if(NOT TARGET yaml-cpp)
  add_library(yaml-cpp STATIC IMPORTED)
  set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${yaml-cpp_LIBRARY})
endif()
set(yaml-cpp_FOUND TRUE)
