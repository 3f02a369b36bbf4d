# Warnings and sanitizers for our own code only.
add_library(gpuadm_warnings INTERFACE)
target_compile_options(gpuadm_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers>)
if(CMAKE_UNITY_BUILD)  # one compilation sees the names of several sources
  target_compile_options(gpuadm_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
endif()
# GCC 12 takes std::string's own replace and insert for overlapping or endless copies once they are inlined
# (https://gcc.gnu.org/PR105329, PR105651); 13 does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gpuadm_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread>)
endif()
if(GPUADM_WERROR)
  target_compile_options(gpuadm_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(GPUADM_SANITIZE)
  set(sanitizers $<$<NOT:$<BOOL:$<TARGET_PROPERTY:GPUADM_NOT_SANITIZED>>>:-fsanitize=address,undefined>)
  target_compile_options(gpuadm_warnings INTERFACE ${sanitizers} -fno-omit-frame-pointer)
  # A position-independent executable would have millions of relocations, a fifth of the time of each start.
  target_link_options(gpuadm_warnings INTERFACE ${sanitizers} -no-pie)
endif()
