# OpenCL: the headers at build time, the loader at run time; kernel text goes into the library.
if(ABUT_OPENCL)
  find_path(OPENCL_INCLUDE CL/cl.h)
  mark_as_advanced(OPENCL_INCLUDE)
  if(OPENCL_INCLUDE)
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

file(GLOB ABUT_KERNELS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*/*.cl)
file(GLOB ABUT_KERNEL_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*/*_shared.h
                                                ${CMAKE_SOURCE_DIR}/src/*/*_kernel.h)
list(JOIN ABUT_KERNELS "|" kernels)
set(ABUT_KERNEL_TEXT ${CMAKE_BINARY_DIR}/kernels.c)
add_custom_command(OUTPUT ${ABUT_KERNEL_TEXT}
                   COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}/src "-DKERNELS=${kernels}"
                           -DOUT=${ABUT_KERNEL_TEXT} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
                   DEPENDS ${ABUT_KERNELS} ${ABUT_KERNEL_HEADERS}
                           ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
                   COMMENT "Embedding kernel text" VERBATIM)
target_sources(abut_objects PRIVATE ${ABUT_KERNEL_TEXT})
