# `cmake --install`, the Debian packages (`cpack -G DEB`) and what the tarball is made of; ./bootstrap package runs them.
# What belongs to a package: install(... COMPONENT weft). A package more: one line, weft_deb(NAME SUMMARY "..." [DEPENDS "..."]
# [RECOMMENDS "..."]), beside install(... COMPONENT NAME); one with units: weft_service_deb.
include(GNUInstallDirs)

# Version and date of the last commit: a build of the same commit makes the same files.
set(WEFT_PACKAGE_VERSION ${PROJECT_VERSION})
string(TIMESTAMP WEFT_DATE "%Y-%m-%d")
find_program(WEFT_GIT git)
if(WEFT_GIT AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${WEFT_GIT} -C ${CMAKE_SOURCE_DIR} log -1 --format=%cs.%h --abbrev=12 OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit MATCHES "^([0-9-]+)\\.([0-9a-f]+)$")
    set(WEFT_DATE ${CMAKE_MATCH_1})
    string(REPLACE "-" "" day ${WEFT_DATE})
    set(WEFT_PACKAGE_VERSION ${PROJECT_VERSION}+git${day}.${CMAKE_MATCH_2})
  endif()
endif()

set(WEFT_DEBS "")
set(WEFT_MAINTAINER "the authors of weft <weft@packages.debian.org>")
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

# The copyright and the changelog that Debian wants of every package.
function(weft_debian_papers component package)
  set(folder ${CMAKE_BINARY_DIR}/package/${package})
  file(WRITE ${folder}/copyright
       "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: weft\n\n"
       "Files: *\nCopyright: 2026 the authors of weft\nLicense: Apache-2.0\n"
       " On Debian systems the whole text of this license is in\n /usr/share/common-licenses/Apache-2.0.\n"
       "Comment: The charts of the live page are parts of Apache ECharts, copyright 2017-2026 The Apache Software\n"
       " Foundation, Apache-2.0, with zrender, copyright 2013-2026 Baidu Inc., BSD-3-Clause. libweft_dpdk.so, of the\n"
       " package weft-dpdk, holds parts of DPDK, copyright Intel Corporation and others, BSD-3-Clause:\n"
       " /usr/share/doc/weft-dpdk/copyright.dpdk.\n")
  file(WRITE ${folder}/changelog
       "${package} (${WEFT_PACKAGE_VERSION}) bookworm; urgency=medium\n\n  * What is new: CHANGELOG.md of weft.\n\n"
       " -- ${WEFT_MAINTAINER}  ${WEFT_DEBIAN_DATE}\n")
  execute_process(COMMAND gzip -9nf ${folder}/changelog)
  install(FILES ${folder}/copyright ${folder}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component})
endfunction()

# weft_deb(component SUMMARY text [DEPENDS text] [RECOMMENDS text] [SECTION name]): one package more, `weft` or `weft-NAME`.
function(weft_deb component)
  cmake_parse_arguments(arg "" "SUMMARY;DEPENDS;RECOMMENDS" "" ${ARGN})
  set(package weft-${component})
  if(component STREQUAL "weft")
    set(package weft)
  endif()
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_FILE_NAME ${package}_${WEFT_PACKAGE_VERSION}_amd64.deb PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${arg_DEPENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${arg_RECOMMENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_SUMMARY}" PARENT_SCOPE)
  weft_debian_papers(${component} ${package})
  list(APPEND WEFT_DEBS ${component})
  set(WEFT_DEBS ${WEFT_DEBS} PARENT_SCOPE)
endfunction()

# weft_service_deb(component SUMMARY ... UNITS file... DIRECTORIES path...): units, and what the package does when it comes
# and goes: cmake/systemd/COMPONENT.postinst, .prerm, .postrm. They are of the package alone: `cmake --install` without
# --component leaves them out, for they go to /lib and /etc whatever the prefix.
function(weft_service_deb component)
  cmake_parse_arguments(arg "" "SUMMARY;DEPENDS;RECOMMENDS" "UNITS;DIRECTORIES" ${ARGN})
  string(TOUPPER ${component} upper)
  list(TRANSFORM arg_UNITS PREPEND ${CMAKE_SOURCE_DIR}/cmake/systemd/)
  install(FILES ${arg_UNITS} DESTINATION /lib/systemd/system COMPONENT ${component} EXCLUDE_FROM_ALL)
  foreach(directory IN LISTS arg_DIRECTORIES)
    install(DIRECTORY DESTINATION ${directory} COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
  set(scripts "")
  foreach(script postinst prerm postrm)
    set(copy ${CMAKE_BINARY_DIR}/package/${component}/${script})
    configure_file(cmake/systemd/${component}.${script} ${copy} COPYONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND scripts ${copy})
  endforeach()
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${scripts} PARENT_SCOPE)
  weft_deb(${component} SUMMARY "${arg_SUMMARY}" DEPENDS "${arg_DEPENDS}" RECOMMENDS "${arg_RECOMMENDS}")
  foreach(name PACKAGE_NAME FILE_NAME PACKAGE_DEPENDS PACKAGE_RECOMMENDS DESCRIPTION)
    set(CPACK_DEBIAN_${upper}_${name} "${CPACK_DEBIAN_${upper}_${name}}" PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_SUMMARY}" PARENT_SCOPE)
  set(WEFT_DEBS ${WEFT_DEBS} PARENT_SCOPE)
endfunction()

# Manual pages and completions are what the program says of itself.
function(weft_install_pages)
  set(share ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${share}/made COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
                     COMMAND weft write-pages ${share} ${WEFT_DATE} COMMAND gzip -9nr ${share}/man
                     COMMAND ${CMAKE_COMMAND} -E touch ${share}/made DEPENDS weft VERBATIM)
  add_custom_target(weft_pages ALL DEPENDS ${share}/made)
  install(DIRECTORY ${share}/man ${share}/bash-completion ${share}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT weft)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/weft)
  file(GLOB pages docs/*.md docs/*.svg docs/*.png)
  install(FILES README.md CHANGELOG.md DESTINATION ${doc} COMPONENT weft)
  install(FILES ${pages} DESTINATION ${doc}/docs COMPONENT weft)
  install(DIRECTORY docs/schema docs/monitoring DESTINATION ${doc}/docs COMPONENT weft)
  if(EXISTS ${CMAKE_SOURCE_DIR}/docs/recipes)
    install(DIRECTORY docs/recipes DESTINATION ${doc}/docs COMPONENT weft USE_SOURCE_PERMISSIONS)
  endif()
  install(DIRECTORY docs/demo DESTINATION ${doc} COMPONENT weft USE_SOURCE_PERMISSIONS)
  install(FILES docs/weft.yaml DESTINATION ${doc}/examples COMPONENT weft)
endfunction()

# The program for the tarball: it looks for its libraries beside itself first. What they are: cmake/make_packages.
add_executable(weft_portable EXCLUDE_FROM_ALL cli/main.cpp)
target_link_libraries(weft_portable PRIVATE weft_cli)
target_link_options(weft_portable PRIVATE -Wl,--disable-new-dtags)  # RPATH: its libraries look there too
set_target_properties(weft_portable PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/weft")

execute_process(COMMAND date -u -R -d "${WEFT_DATE}" OUTPUT_VARIABLE WEFT_DEBIAN_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
weft_install_pages()
weft_deb(weft
         SUMMARY "tests, explains and balances the fabrics under GPU training jobs\n\
It maps every path of a RoCE or InfiniBand fabric, probes every link in both\n\
directions, names what is not healthy, and gives the queue pairs of a job\n\
paths so that no link carries more than it must."
         RECOMMENDS "nats-server, openssh-client, ibverbs-providers")
weft_deb(labs
         SUMMARY "fabrics on one machine to try weft on (metapackage)\n\
Depends on what the labs of weft need: network namespaces with the kernel's\n\
own ECMP, and InfiniBand fabrics in ibsim under OpenSM. This is a metapackage."
         DEPENDS "weft (= ${WEFT_PACKAGE_VERSION}), nats-server, iproute2, nftables, iptables, ibsim-utils, opensm, infiniband-diags"
         RECOMMENDS "qemu-system-x86, busybox-static, kmod, cpio, iputils-ping")
if(TARGET weft_nccl)
  weft_deb(nccl
           SUMMARY "labels for the queue pairs of NCCL jobs\n\
A library that jobs load, by LD_PRELOAD or as an env plugin of NCCL: it gives\n\
each queue pair of an unmodified job the path label that the balancer chose."
           DEPENDS "libc6 (>= 2.36)"
           RECOMMENDS "weft")
endif()
weft_service_deb(agent
         SUMMARY "standing agent of weft: probes from this host all the time\n\
A service that probes every path of this host's NICs 500 times a second, at\n\
about one percent of a core, and tells the watchers of its fabrics. It does\n\
nothing before a credential stands in /etc/weft/agent."
         DEPENDS "weft (= ${WEFT_PACKAGE_VERSION}), init-system-helpers (>= 1.52)"
         UNITS weft-agent.service
         DIRECTORIES /etc/weft/agent)
weft_service_deb(watch
         SUMMARY "watcher of weft: reports the link that fails\n\
Services for each fabric: weft-watch@FABRIC diagnoses what standing agents\n\
tell, keeps incidents and a history, and serves metrics and a page.\n\
weft-bus@FABRIC is the message server between them, weft-blacklist@FABRIC a\n\
timer that makes a scheduler show the blacklist. None is started before the\n\
site enables it."
         DEPENDS "weft (= ${WEFT_PACKAGE_VERSION}), init-system-helpers (>= 1.52)"
         RECOMMENDS "nats-server"
         UNITS weft-watch@.service weft-bus@.service weft-blacklist@.service weft-blacklist@.timer
         DIRECTORIES /etc/weft/watch /etc/weft/blacklist /var/lib/weft-bus)
if(DPDK_FOUND)
  weft_deb(dpdk
           SUMMARY "engine of weft that sends packets by DPDK\n\
A module that weft loads for --engine dpdk: DPDK with its driver of packet\n\
sockets, in one file."
           DEPENDS "weft (= ${WEFT_PACKAGE_VERSION})")
  install(FILES /usr/share/doc/libdpdk-dev/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weft-dpdk RENAME copyright.dpdk
          COMPONENT dpdk OPTIONAL)
  set(CPACK_DEBIAN_DPDK_PACKAGE_SHLIBDEPS ON)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VERSION ${WEFT_PACKAGE_VERSION})
set(CPACK_PACKAGE_CONTACT "${WEFT_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package/made)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${WEFT_DEBS})
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${WEFT_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_WEFT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
