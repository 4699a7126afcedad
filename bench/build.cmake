# Writes OUT, a header with what the program should know of its own build; only when it changed, so
# that nothing is compiled again without need. Run at every build with -DSOURCE= -DOUT= -DFLAGS=.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --tags
                OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR commit STREQUAL "")
  set(commit unknown)
endif()
string(REPLACE "\\" "\\\\" FLAGS "${FLAGS}")
string(REPLACE "\"" "\\\"" FLAGS "${FLAGS}")
set(text "#define BENCH_COMMIT \"${commit}\"\n#define BENCH_FLAGS \"${FLAGS}\"\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
