# OpenCL: the headers at build time, the loader at run time; kernel text goes into the library.
if(ABUT_OPENCL)
  find_path(OPENCL_INCLUDE CL/cl.h)
  mark_as_advanced(OPENCL_INCLUDE)
  if(OPENCL_INCLUDE)
    set(ABUT_FOUND_OPENCL ON)
    find_package(Threads REQUIRED)
    target_compile_definitions(abut_objects PRIVATE ABUT_HAS_OPENCL)
    target_include_directories(abut_objects SYSTEM PRIVATE ${OPENCL_INCLUDE})
    target_link_libraries(abut_objects PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
    list(APPEND ABUT_LINK_FLAGS -pthread)
    foreach(library ${CMAKE_DL_LIBS})
      list(APPEND ABUT_LINK_FLAGS -l${library})
    endforeach()
  endif()
endif()

# Makes the C file OUT that holds kernels in a table; the rest is all that they are made of: .cl
# files, and what these include, relative to FOLDER or to a group of the library.
function(abut_embed FOLDER TABLE OUT)
  list(JOIN ABUT_PRIVATE "|" roots)
  set(kernels ${ARGN})
  list(FILTER kernels INCLUDE REGEX "[.]cl$")
  list(JOIN kernels "|" kernels)
  add_custom_command(OUTPUT ${OUT}
                     COMMAND ${CMAKE_COMMAND} "-DROOTS=${FOLDER}|${roots}" "-DKERNELS=${kernels}" -DOUT=${OUT}
                             -DTABLE=${TABLE} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                     DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                     COMMENT "Embedding kernel text" VERBATIM)
endfunction()

set(ABUT_KERNELS "")
foreach(folder src/*/* src/*/*/*)
  foreach(kind .cl _shared.h _cl.h)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*${kind})
    list(APPEND ABUT_KERNELS ${found})
  endforeach()
endforeach()
abut_embed(${PROJECT_SOURCE_DIR}/src abuti_modules ${PROJECT_BINARY_DIR}/kernels.c ${ABUT_KERNELS})
target_sources(abut_objects PRIVATE ${PROJECT_BINARY_DIR}/kernels.c)
