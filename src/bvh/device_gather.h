/* Many questions to a device, each with a list of answers: the host's side of gather.cl.
 *
 * A part of the questions at a time: a kernel counts the triangles that may be answers and then
 * lists them (segments of tools.h), another judges each by the arithmetic of the CPU, and what is
 * left is sorted. Lists of candidates take the memory that they need, but no more than a share of
 * the device's: where a part has too many, a smaller one is tried.
 */
#ifndef ABUTI_BVH_DEVICE_GATHER_H
#define ABUTI_BVH_DEVICE_GATHER_H

#include "bvh/device_query.h"
#include "bvh/gather.h"

typedef struct device_quest {
    bvh_on_device *bvh;
    bvh_gather gather; /* what is asked for, but for `user` and `answer` */
    uint32_t most;     /* answers a question; UINT32_MAX = all */
    uint32_t answer_words;
    size_t part; /* questions at once, at most */
    void *user;
    void *answers; /* the caller's array */
    /* Where each question has `row` places in it: how many it has; else null. */
    uint32_t *counts;
    size_t row;
    /* Copies questions to the device. */
    abut_status (*ready)(const struct device_quest *quest, size_t begin, uint32_t count);
    /* Queues the kernel that writes how many candidates each question has to `begin`, or lists them
     * in `places`. */
    abut_status (*find)(const struct device_quest *quest, uint32_t count, uint32_t fill,
                        const abuti_buffer *begin, const abuti_buffer *places);
    /* Queues the kernel that judges `total` candidates, in the buffers of `bvh->gather`. */
    abut_status (*judge)(const struct device_quest *quest, uint32_t total);
} device_quest;

/* How many questions of this many bytes a part has, and of how many answers each if that is known
 * (else 0). */
size_t abuti_device_gather_part(const bvh_on_device *bvh, size_t count, size_t question_bytes,
                                uint32_t answers);

abut_status abuti_device_gather(const device_quest *quest);

/* All answers to questions of six doubles each, rays or boxes, by two kernels of a module: one that
 * finds candidates and one that judges them. */
abut_status abuti_device_ask_all(device_quest *quest, const char *module,
                                 const abuti_kernel_name *find_and_judge, const void *questions,
                                 size_t answer_bytes);

#endif
