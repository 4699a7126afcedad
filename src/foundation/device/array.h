/* Arrays of callers: validation, and conversion of inputs to contiguous doubles. */
#ifndef ABUTI_DEVICE_ARRAY_H
#define ABUTI_DEVICE_ARRAY_H

#include "base/base.h"

#include <abut/device.h>

enum { POSE_NUMBERS = sizeof(abut_pose) / sizeof(double) };

/* Fails if an array has a type or a stride: outputs, and inputs that are also written. */
abut_status abuti_array_check_plain(const char *function, const char *what, abut_array array);
/* Validates type and stride of an input whose elements have so many numbers. */
abut_status abuti_array_check_input(const char *function, const char *what, abut_array array,
                                    size_t count, uint32_t numbers);
/* The same. Then makes it an array of contiguous doubles, in memory of the context if it is not one
 * already: the caller releases `copy`, which is null otherwise. */
abut_status abuti_array_convert(const char *function, const char *what, abut_context *context,
                                abut_array *array, size_t count, uint32_t numbers, void **copy);

#endif
