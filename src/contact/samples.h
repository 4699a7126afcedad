/* What the files of samples share, and what colliders read of them. */
#ifndef ABUTI_CONTACT_SAMPLES_H
#define ABUTI_CONTACT_SAMPLES_H

#include "contact/contact_shared.h"
#include "field/cache.h"
#include "mesh/mesh.h"

#include <abut/contact.h>

#include <stdatomic.h>

struct abut_samples {
    abut_context *context; /* held */
    atomic_uint holds;     /* references: the caller's, and those of worlds */
    abut_samples_arrays view;
    abut_sample *samples;
    abut_sample_edge *edges;
    /* The same as floats about `centre`, as kernels take them: samples, then both ends of each edge
     * with the edge's normal. */
    contact_point *points;
    vec3 centre;
    double radius;         /* of all about the centre */
    box3 bounds;           /* of samples and ends of edges; empty without any */
    bool has_vertices;     /* all that are not flat, so that ends of edges are samples */
    uint32_t *order;       /* of features, samples first and then edges, along a curve in space */
    contact_ball *balls;   /* of features in that order */
    contact_ball *groups;  /* of balls */
    contact_part parts[2]; /* samples, edges */
};

/* Adds a reference, which abut_samples_destroy() releases. Null is allowed. Thread-safe. */
abut_samples *abuti_samples_retain(const abut_samples *samples);

/* ---- samples_balls.c ---- */

/* Sorts all features into balls. */
abut_status abuti_samples_balls(abut_samples *samples);

/* ---- samples_cache.c ---- */

#define SAMPLES_ENDING ".samples"

/* Looks for samples at a place, and tells whether they were there. Fails only where memory ends. */
abut_status abuti_samples_recall(const cache_place *place, const abut_mesh *mesh, uint32_t kinds,
                                 abut_samples *to, bool *found);
/* Keeps samples there. Failures are logged. */
void abuti_samples_keep(const cache_place *place, const abut_samples *samples);

/* ---- samples_even.c ---- */

/* A list that grows. */
typedef struct sample_list {
    abut_context *context;
    abut_sample *list;
    size_t count, room;
} sample_list;

/* Makes room for so many more. */
abut_status abuti_samples_reserve(sample_list *to, size_t more);
/* Adds even samples of a mesh of this area: `count` of them, or by radius where that is 0. */
abut_status abuti_samples_even(const abut_mesh *mesh, const abut_normals_arrays *normals,
                               double area, double radius, uint32_t count, sample_list *to);
/* Keeps `most` of the samples from `first` on, or those that are `radius` apart where it is above
 * 0; in the order in which they were. */
abut_status abuti_samples_thin(sample_list *samples, size_t first, size_t most, double radius);

#endif
