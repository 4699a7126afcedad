/* CInDeR as published by Malmsten and Klasen (2005, appendix A and section 4.2), on plain
 * buffers: the predecessor of <abut/layers.h>, kept to count the pairs that it misses.
 *
 * Seven passes. 1: the edges of all solids are drawn into the depth buffer, each over all
 * previous ones. 2, 3: front faces in front of an edge increment the stencil buffer of 8 bits,
 * back faces decrement it. 4: if the count is not zero, edges write the index of their solid,
 * the penetrating one. 5 to 7: the same counting for each solid separately, which writes its
 * index if the count is not zero: the penetrated one. Then solids that penetrate themselves are
 * filtered out, the image is reduced if requested, and read.
 *
 * So there is one pair per pixel: of several edges the one drawn last, and of several solids
 * around it the last. Depths have 24 bits, and the depths of edges differ from those of their
 * own faces by up to the distance between pixel centres. So solids falsely penetrate themselves
 * and hide others that do penetrate. */
#ifndef CINDER_H
#define CINDER_H

#include <abut/abut.h>

/* How the image is reduced before it is read. Halving width and height keeps the largest number of
 * each four pixels. */
typedef enum cinder_reduction {
    CINDER_HALVE, /* a fixed number of times (section 4.3.2.2) */
    CINDER_STEER, /* as long as no four pixels have two different pairs, as an occlusion query would
                     report (4.3.2.3): no pair is lost */
    CINDER_PACK   /* moves all pixels with a pair together instead (4.3.2.4): no pair is lost */
} cinder_reduction;

typedef struct cinder_options {
    uint32_t resolution; /* pixels of the larger side; 0 = 1024 */
    cinder_reduction reduction;
    uint32_t halvings; /* of CINDER_HALVE */
    bool prevent;  /* a solid is never registered inside itself (4.3.1.3), instead of being filtered
                      out (4.3.1.2) */
    double offset; /* pixel sizes by which edges are drawn outside their faces: those of front faces
                      nearer to the eye, those of back faces farther away (4.3.1.1) */
} cinder_options;

typedef struct cinder_report {
    uint64_t edge_pixels; /* pixels with an edge */
    uint64_t self_pixels; /* pixels with a solid inside itself, before the filter */
    uint64_t read_pixels; /* pixels of the image that is read */
    uint32_t width, height;
    uint32_t *image; /* before filter and reduction: penetrating solid + 1 in the upper half,
                        penetrated + 1 in the lower; in memory of `context` */
} cinder_report;

/* Finds pairs of solids in one parallel view of all of them along `direction`: at most 65,534
 * solids. Pairs are sorted and unique, in memory of `context` that the caller releases. Null
 * `report` is allowed; otherwise the caller also releases its image. */
abut_status cinder_find(abut_context *context, const abut_collider *solids, uint32_t count,
                        abut_vec3 direction, const cinder_options *options, abut_world_pair **pairs,
                        uint64_t *pair_count, cinder_report *report);

#endif
