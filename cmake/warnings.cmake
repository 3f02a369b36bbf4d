# Warnings and sanitizers for our own code only.
add_library(gpuadm_warnings INTERFACE)
target_compile_options(gpuadm_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers>)
if(GPUADM_WERROR)
  target_compile_options(gpuadm_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(GPUADM_SANITIZE)
  target_compile_options(gpuadm_warnings INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer)
  target_link_options(gpuadm_warnings INTERFACE -fsanitize=address,undefined)
endif()
