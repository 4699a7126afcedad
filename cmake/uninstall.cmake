# Removes the files that the last `cmake --install` of this build folder put somewhere, and the
# folders called abut, and what is in them, that are empty then. DESTDIR counts as it does there.
set(manifest ${CMAKE_CURRENT_BINARY_DIR}/install_manifest.txt)
if(NOT EXISTS ${manifest})
  message(FATAL_ERROR "nothing was installed from here: there is no ${manifest}")
endif()
file(STRINGS ${manifest} files)
set(folders "")
foreach(file ${files})
  file(REMOVE $ENV{DESTDIR}${file})
  get_filename_component(folder ${file} DIRECTORY)
  while(folder MATCHES "/abut(/|$)")
    list(APPEND folders ${folder})
    get_filename_component(folder ${folder} DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING) # children first
foreach(folder ${folders}) # rmdir leaves what is not empty
  execute_process(COMMAND rmdir $ENV{DESTDIR}${folder} OUTPUT_QUIET ERROR_QUIET)
endforeach()
list(LENGTH files count)
message(STATUS "${count} files removed")
file(REMOVE ${manifest})
