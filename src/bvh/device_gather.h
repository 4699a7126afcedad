/* Many questions to a device, each with a list of answers: the host's side of gather.cl.
 *
 * A part of the questions at a time: a kernel counts the triangles that may be answers and then
 * lists them (segments of tools.h), another judges each by the arithmetic of the CPU, and what is
 * left is sorted. Lists of candidates take the memory that they need, but no more than a share of
 * the device's: where a part has too many, a smaller one is tried.
 */
#ifndef ABUTI_BVH_DEVICE_GATHER_H
#define ABUTI_BVH_DEVICE_GATHER_H

#include "bvh/gather.h"
#include "bvh/on_device.h"

/* A segment of candidates for each question. */
enum {
    GATHER_BEGIN,
    GATHER_PLACES, /* of candidates; their triangles when they have been judged */
    GATHER_OWNERS,
    GATHER_BEFORE, /* first whether each was accepted */
    GATHER_KEYS,
    GATHER_ANSWERS,
    GATHER_FROM,
    GATHER_TO,
    GATHER_LENGTHS,
    GATHER_LONGEST,
    GATHER_BUFFERS
};

typedef struct gather_there {
    bvh_part part;
    abuti_kit kit;
} gather_there;

typedef struct device_quest {
    bvh_on_device *there;
    gather_there *lists; /* set by abuti_device_gather() */
    const bvh_gather
        *gather;   /* what is asked for; without offsets and total where there are rows */
    uint32_t most; /* answers a question; UINT32_MAX = all */
    size_t part;   /* questions at once, at most */
    void *user;
    /* Where each question has `row` places in the array of answers: how many it has. */
    abut_array counts;
    uint32_t row;
    /* Queues what brings questions to the device. */
    void (*ready)(const struct device_quest *quest, size_t begin, uint32_t count);
    /* Queues the kernel that writes how many candidates each question has to `begin`, or lists them
     * in `places`. */
    void (*find)(const struct device_quest *quest, uint32_t count, uint32_t fill,
                 const abuti_buffer *begin, const abuti_buffer *places);
    /* Queues the kernel that judges `total` candidates, in the buffers of `lists`. */
    void (*judge)(const struct device_quest *quest, uint32_t total);
} device_quest;

/* How many questions of this many bytes a part has, and of how many answers each if that is known
 * (else 0). */
size_t abuti_device_gather_part(const bvh_on_device *there, size_t count, size_t question_bytes,
                                uint32_t answers);

abut_status abuti_device_gather(device_quest *quest);

/* All answers to questions of six doubles each, rays or boxes, by kernels of a kit: one that
 * refuses those that are not legal (`what` tells why), one that finds candidates and one that
 * judges them.
 */
typedef struct device_all {
    abuti_kit *kit;
    uint32_t check, find, judge;
    abut_array questions;
    const char *name, *what;
    const abuti_buffer *nodes; /* what `find` walks through; null = those of the tree */
} device_all;
abut_status abuti_device_ask_all(const bvh_gather *gather, const device_all *all);

/* Refuses the first question of a buffer that a kernel (questions, count, ABUT_COORDINATE_MAX,
 * refused) finds not legal. Waits. */
abut_status abuti_device_check_all(const char *function, const device_all *all, size_t count);
/* Fails where a question was refused; ABUT_NONE = none was. */
abut_status abuti_device_refuse(const char *function, const device_all *all, uint32_t refused);

#endif
