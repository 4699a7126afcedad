# The abut command, and the program of tools/check-data.

# What `abut demo` shows of cloth; tests and benchmarks use it too.
add_library(abut_cloth_scenes STATIC examples/critter.c apps/demos/cloth_scene.c apps/demos/cloth_stress.c)
target_compile_options(abut_cloth_scenes PRIVATE ${ABUT_CALLER_OPTIONS})
target_include_directories(abut_cloth_scenes PUBLIC examples apps/demos PRIVATE apps/cmd)
target_link_libraries(abut_cloth_scenes PUBLIC abut_figures_static abut_static abut_flags)

# Scenes for engines.
add_library(abut_fits STATIC examples/fits.c examples/ode/bowl.c)
target_compile_options(abut_fits PRIVATE ${ABUT_CALLER_OPTIONS})
target_include_directories(abut_fits PUBLIC examples examples/ode)
target_link_libraries(abut_fits PUBLIC abut_picture_static abut_static abut_flags)

# What it shows of solids in images; tests and benchmarks use it too.
add_library(abut_falls STATIC apps/demos/falls.c apps/demos/falls_between.c
                              bench/reproduce/malmsten/cinder.c)
target_compile_options(abut_falls PRIVATE ${ABUT_CALLER_OPTIONS})
target_include_directories(abut_falls PUBLIC apps/demos bench/reproduce/malmsten)
target_link_libraries(abut_falls PUBLIC abut_cloth_scenes abut_static abut_flags)

add_library(abut_sundholm STATIC bench/reproduce/sundholm/cells.c) # for `abut demo line`
target_compile_options(abut_sundholm PRIVATE ${ABUT_CALLER_OPTIONS})
target_link_libraries(abut_sundholm PUBLIC abut_static abut_flags)

file(GLOB ABUT_TOOL_SOURCES CONFIGURE_DEPENDS apps/cmd/*.c apps/draw/*.c apps/demos/demo*.c)
list(FILTER ABUT_TOOL_SOURCES EXCLUDE REGEX "/abut.c$") # its main()
file(GLOB ABUT_CHECK_SOURCES CONFIGURE_DEPENDS tests/data/check_*.c)
add_executable(abut_check_data ${ABUT_CHECK_SOURCES}) # for tools/check-data, not installed
set_target_properties(abut_check_data PROPERTIES OUTPUT_NAME abut-check-data)
target_include_directories(abut_check_data PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(abut_check_data PRIVATE abut_static abut_flags)
add_library(abut_commands OBJECT ${ABUT_TOOL_SOURCES}) # abut and abut-mpi are made of them
target_include_directories(abut_commands PUBLIC ${PROJECT_SOURCE_DIR} apps/cmd apps/draw)
target_link_libraries(abut_commands PUBLIC abut_bench_cases abut_static abut_flags)
target_link_libraries(abut_commands PUBLIC abut_cloth_scenes abut_falls abut_sundholm abut_picture_static
                                            abut_figures_static)
target_compile_options(abut_commands PRIVATE ${ABUT_CALLER_OPTIONS})
add_executable(abut_tool apps/cmd/abut.c)
set_target_properties(abut_tool PROPERTIES OUTPUT_NAME abut)
target_link_libraries(abut_tool PRIVATE abut_commands abut_bench_cases)
if(ABUT_INSTALL) # a wheel is installed anywhere: its viewer is beside the command
  target_compile_definitions(abut_commands PRIVATE
                             ABUT_DATA_FOLDER="${CMAKE_INSTALL_FULL_DATADIR}/abut")
endif()
if(ABUT_FOUND_PNG) # libpng stands on zlib, which compresses the scenes of pages
  find_package(ZLIB QUIET)
  if(ZLIB_FOUND)
    target_compile_definitions(abut_commands PRIVATE ABUT_HAS_ZLIB)
    target_link_libraries(abut_commands PUBLIC ZLIB::ZLIB)
  endif()
endif()
if(ABUT_ODE)
  find_path(ODE_INCLUDE ode/ode.h)
  find_library(ODE_LIBRARY ode)
  mark_as_advanced(ODE_INCLUDE ODE_LIBRARY)
  if(ODE_INCLUDE AND ODE_LIBRARY) # its scenes are demos and benchmark cases
    set(ABUT_FOUND_ODE ON)
    add_library(abut_scenes STATIC examples/ode/model.c examples/ode/rigid.c examples/ode/stand.c
                                   examples/ode/stand_scenes.c)
    target_compile_definitions(abut_scenes PUBLIC ABUT_HAS_ODE)
    target_compile_options(abut_scenes PRIVATE ${ABUT_CALLER_OPTIONS})
    target_include_directories(abut_scenes PUBLIC examples/ode)
    target_include_directories(abut_scenes SYSTEM PRIVATE ${ODE_INCLUDE})
    target_link_libraries(abut_scenes PUBLIC abut_cloth_scenes abut_fits abut_static abut_flags ${ODE_LIBRARY})
    target_link_libraries(abut_commands PUBLIC abut_scenes)
  endif()
endif()

# The page for man(1) and the completions, made by the command itself.
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(TARGET abut_tool POST_BUILD
                     COMMAND abut_tool manual > abut.1
                     COMMAND abut_tool completion bash > abut.bash
                     COMMAND abut_tool completion zsh > _abut
                     COMMAND abut_tool completion fish > abut.fish
                     BYPRODUCTS abut.1 abut.bash _abut abut.fish
                     WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
                     COMMENT "Writing the manual and completions" VERBATIM)
endif()
