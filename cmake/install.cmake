# What `cmake --install` puts where: libraries, headers, pkg-config, find_package, the command with
# its completion, pages and licence. The target `uninstall` takes away what the last one installed.
include(CMakePackageConfigHelpers)

install(TARGETS abut_shared abut_static abut_picture_shared abut_picture_static abut_figures_shared
                abut_figures_static EXPORT abut
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/abut DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT abut NAMESPACE abut:: FILE abut-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/abut)
# The prefix as seen from the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH ABUT_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(JOIN ABUT_LINK_FLAGS " " ABUT_PC_PRIVATE)
configure_file(cmake/abut.pc.in abut.pc @ONLY)
set(ABUT_COMPANION picture)
set(ABUT_COMPANION_DESCRIPTION "Pictures of triangle meshes, as PNG or PPM files")
list(JOIN ABUT_PICTURE_LINK_FLAGS " " ABUT_COMPANION_PRIVATE)
configure_file(cmake/companion.pc.in abut_picture.pc @ONLY)
set(ABUT_COMPANION figures)
set(ABUT_COMPANION_DESCRIPTION "Built-in characters, and garments for characters")
set(ABUT_COMPANION_PRIVATE "")
configure_file(cmake/companion.pc.in abut_figures.pc @ONLY)
configure_file(cmake/abut-config.cmake.in abut-config.cmake @ONLY)
write_basic_package_version_file( # as the soname does, see ABUT_SOVERSION
  abut-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/abut.pc ${CMAKE_CURRENT_BINARY_DIR}/abut_picture.pc
              ${CMAKE_CURRENT_BINARY_DIR}/abut_figures.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/abut-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/abut-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/abut)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(ABUT_COMMAND)
  # The viewer of pages, where viewer/build has made it.
  install(CODE "
    if(EXISTS \"${PROJECT_SOURCE_DIR}/viewer/dist/viewer.js\")
      file(INSTALL \"${PROJECT_SOURCE_DIR}/viewer/dist/viewer.js\"
           DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/abut\")
    endif()")
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(TARGETS abut_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(ABUT_MPI AND ABUT_FOUND_MPI)
    install(TARGETS abut_mpi_tool abut_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY apps/mpi/include/abut DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    install(FILES ${PROJECT_BINARY_DIR}/abut.bash RENAME abut
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PROJECT_BINARY_DIR}/abut.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_BINARY_DIR}/_abut
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${PROJECT_BINARY_DIR}/abut.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
if(ABUT_ALONE)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
                    COMMENT "Removing what was installed" VERBATIM)
endif()
