# Files that are installed with the program, and the packages: cpack creates .deb, .rpm and .tar.xz. packaging/make builds what
# belongs into them.
include(GNUInstallDirs)

# The program describes itself; where it is for another machine, an emulator runs it.
set(said ${CMAKE_CURRENT_BINARY_DIR}/said)
add_custom_command(OUTPUT ${said}/done
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${said}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${said}
  COMMAND gpuadm manual ${said}/man1
  COMMAND gpuadm completion bash > ${said}/gpuadm.bash
  COMMAND gpuadm completion zsh > ${said}/_gpuadm
  COMMAND gpuadm completion fish > ${said}/gpuadm.fish
  COMMAND gpuadm config schema > ${said}/cluster.schema.json
  COMMAND ${CMAKE_COMMAND} -E touch ${said}/done
  DEPENDS gpuadm VERBATIM)
add_custom_target(gpuadm-said ALL DEPENDS ${said}/done)
install(DIRECTORY ${said}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${said}/gpuadm.bash RENAME gpuadm DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${said}/_gpuadm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${said}/gpuadm.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${said}/cluster.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuadm)

# The documents: docs/ and the pages that are generated (docs/make). Only on request, and by packaging/make.
set(documents ${CMAKE_CURRENT_BINARY_DIR}/docs)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/run-gpuadm
  CONTENT "#!/bin/sh\nexec $<JOIN:${CMAKE_CROSSCOMPILING_EMULATOR}, > '$<TARGET_FILE:gpuadm>' \"$@\"\n"
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E env GPUADM=${CMAKE_CURRENT_BINARY_DIR}/run-gpuadm ${CMAKE_CURRENT_SOURCE_DIR}/docs/make ${documents}
  DEPENDS gpuadm VERBATIM)
install(DIRECTORY ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(FILES README.md README.zh-CN.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(GPUADM_SBOM)
  install(FILES ${GPUADM_SBOM} DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuadm RENAME sbom.spdx.json)
endif()

set(CPACK_PACKAGE_NAME gpuadm)
set(CPACK_PACKAGE_VENDOR gpuadm)
set(CPACK_PACKAGE_CONTACT "The gpuadm developers <gpuadm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Machines with NVIDIA GPUs to a Kubernetes cluster, over SSH")
set(CPACK_PACKAGE_DESCRIPTION "Reads what the machines are, judges that, installs drivers, container runtime and Kubernetes, and proves that GPUs compute in pods.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}
${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
# Everything else is linked into the program (packaging/sysroot), except libcurl, which is loaded for downloads, and the programs of
# OpenSSH, which are started where a host is reached by its settings and where bundles are signed.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.31)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openssh-client, libcurl4, ca-certificates")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP System)
set(CPACK_RPM_PACKAGE_AUTOREQ OFF)
set(CPACK_RPM_PACKAGE_AUTOPROV OFF)
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= 2.31")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/bash-completion /usr/share/bash-completion/completions
  /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/man /usr/share/man/man1 /usr/share/zsh
  /usr/share/zsh/site-functions)
# Reproducible packages. CMake has no variable for Recommends.
set(CPACK_RPM_SPEC_MORE_DEFINE "Recommends: openssh-clients
Recommends: libcurl
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _build_id_links none
%define __os_install_post %{nil}")
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_times.cmake)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_THREADS 1)
set(CPACK_ARCHIVE_THREADS 1)
include(CPack)
