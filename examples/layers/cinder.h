/* CInDeR as Malmsten and Klasen (2005, appendix A and section 4.2) have it, on plain buffers: what
 * <abut/layers.h> came from, kept to count what it loses.
 *
 * Seven passes. 1: the edges of all solids go into the depth buffer, the last one over all before.
 * 2, 3: front faces before an edge count up in the stencil buffer of 8 bits, back faces down. 4:
 * where something is left, edges write the number of their solid, the penetrating one. 5 to 7: the
 * same counting for each solid alone, which writes its number where something is left: the
 * penetrated one. Then solids that penetrate themselves are filtered out, the image is made smaller
 * if wanted, and read.
 *
 * So there is one pair a pixel: of several edges the one drawn last, and of several solids around
 * it the last. Depths have 24 bits, and edges are as far from their own faces as their pixels'
 * centres are, so that solids penetrate themselves by mistake and hide others that do. */
#ifndef CINDER_H
#define CINDER_H

#include <abut/abut.h>

typedef struct cinder_options {
    uint32_t resolution; /* pixels of the larger side; 0 = 1024 */
    uint32_t halvings;   /* times that the image is made half as wide and high: of each four pixels
                          * the greatest number is kept (section 4.3.2.2) */
    bool prevent;        /* a solid is never registered within itself (4.3.1.3), instead of filtered
                          * out (4.3.1.2) */
} cinder_options;

/* Finds pairs of solids in one parallel view along `direction` of all of them: at most 65,534.
 * Pairs are sorted and unique, in memory of `context` that the caller releases. */
abut_status cinder_find(abut_context *context, const abut_raster_item *solids, uint32_t count,
                        abut_vec3 direction, const cinder_options *options, abut_world_pair **pairs,
                        uint64_t *pair_count);

#endif
