# weft_embed(target folder header [FILE...]): the files of a folder, and others, as a C++ source of the target, so that the
# program needs none of them when it runs. The header declares `assets()`; each file is made anew when it changes.
function(weft_embed target folder header)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.html ${CMAKE_SOURCE_DIR}/${folder}/*.css
       ${CMAKE_SOURCE_DIR}/${folder}/*.js ${CMAKE_SOURCE_DIR}/${folder}/*.svg)
  list(APPEND files ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/generated/${folder}/assets.cpp)
  add_custom_command(OUTPUT ${source}
                     COMMAND ${CMAKE_COMMAND} -DOUT=${source} "-DFILES=${files}" -DHEADER=${header}
                             -P ${CMAKE_SOURCE_DIR}/cmake/write_assets.cmake
                     DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/write_assets.cmake VERBATIM)
  # g++ and clang take literals of any length; clang alone warns beyond what the standard asks for.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()
