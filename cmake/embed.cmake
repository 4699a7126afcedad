# Makes a C file that holds kernel text: every .cl file in KERNELS becomes a module of its name, with
# its #include "..." resolved below one of ROOTS, each file once, and #line marks so that a compiler's
# complaints name the file that people edit.
# Usage: cmake "-DROOTS=a|b" -DKERNELS="a.cl|b.cl" -DOUT=file.c -DTABLE=modules -P embed.cmake
cmake_minimum_required(VERSION 3.18)

function(count_lines text result)
  string(REGEX REPLACE "[^\n]" "" breaks "${text}")
  string(LENGTH "${breaks}" count)
  set(${result} ${count} PARENT_SCOPE)
endfunction()

# Appends the file to the global property FLAT. Its path is relative to one of ROOTS.
function(flatten path)
  get_property(seen GLOBAL PROPERTY SEEN)
  if("|${path}|" IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY SEEN "|${path}|")
  set(file "")
  foreach(root ${ROOTS})
    if(NOT file AND EXISTS "${root}/${path}")
      set(file "${root}/${path}")
    endif()
  endforeach()
  if(NOT file)
    message(FATAL_ERROR "embed: ${path} is included but not in ${ROOTS}")
  endif()
  file(READ "${file}" rest)
  set(rest "\n${rest}")
  set(line 0) # of the break that `rest` starts with
  set_property(GLOBAL APPEND_STRING PROPERTY FLAT "#line 1 \"${path}\"")
  while(rest MATCHES "\n#include \"([^\"\n]*)\"[^\n]*")
    set(directive "${CMAKE_MATCH_0}")
    set(inner "${CMAKE_MATCH_1}")
    string(FIND "${rest}" "${directive}" at)
    string(SUBSTRING "${rest}" 0 ${at} before)
    string(LENGTH "${directive}" length)
    math(EXPR after "${at} + ${length}")
    string(SUBSTRING "${rest}" ${after} -1 rest)
    count_lines("${before}" breaks)
    math(EXPR line "${line} + ${breaks} + 1")
    math(EXPR next "${line} + 1")
    set_property(GLOBAL APPEND_STRING PROPERTY FLAT "${before}\n")
    flatten("${inner}")
    set_property(GLOBAL APPEND_STRING PROPERTY FLAT "\n#line ${next} \"${path}\"")
  endwhile()
  set_property(GLOBAL APPEND_STRING PROPERTY FLAT "${rest}")
endfunction()

set(arrays "")
set(table "")
string(REPLACE "|" ";" KERNELS "${KERNELS}")
string(REPLACE "|" ";" ROOTS "${ROOTS}")
foreach(kernel ${KERNELS})
  set_property(GLOBAL PROPERTY SEEN "")
  set_property(GLOBAL PROPERTY FLAT "")
  foreach(root ${ROOTS})
    string(FIND "${kernel}" "${root}/" at)
    if(at EQUAL 0)
      file(RELATIVE_PATH path "${root}" "${kernel}")
    endif()
  endforeach()
  get_filename_component(name "${kernel}" NAME_WE)
  flatten("${path}")
  get_property(flat GLOBAL PROPERTY FLAT)
  file(WRITE "${OUT}.${name}.cl" "${flat}") # to look at, and for the lint
  string(REPLACE "\\" "\\\\" flat "${flat}")
  string(REPLACE "\"" "\\\"" flat "${flat}")
  string(REPLACE "?" "\\?" flat "${flat}") # no trigraphs
  string(REPLACE "\n" "\\n\"\n\"" flat "${flat}") # a line for a line
  string(APPEND arrays "static const char text_${name}[] =\n\"${flat}\";\n")
  string(APPEND table "    {\"${name}\", text_${name}, sizeof text_${name} - 1},\n")
endforeach()
file(WRITE "${OUT}.new" "/* Made by cmake/embed.cmake from the .cl files; do not edit. */
#include \"device/device.h\"

${arrays}
const abuti_module ${TABLE}[] = {
${table}    {0, 0, 0},
};
")
file(RENAME "${OUT}.new" "${OUT}")
