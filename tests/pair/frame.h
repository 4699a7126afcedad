/* Frames of pair queries from colliders. */
#ifndef TESTS_PAIR_FRAME_H
#define TESTS_PAIR_FRAME_H

#include "pair/pair.h"

static inline bool init_frame(const abut_collider *a, const abut_collider *b, pair_frame *frame) {
    const abuti_posed first = {a->shape.body.bvh, a->pose}, second = {b->shape.body.bvh, b->pose};
    return abuti_pair_frame_init(&first, &second, frame);
}

#endif
