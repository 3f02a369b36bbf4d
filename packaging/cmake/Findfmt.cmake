# As headers alone: there is no static one in Debian.
find_path(fmt_INCLUDE_DIR fmt/format.h REQUIRED)
if(NOT TARGET fmt::fmt)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
set(fmt_FOUND TRUE)
