/* Samples of a mesh: the object, and the functions that its files share. */
#ifndef ABUTI_CONTACT_SAMPLES_H
#define ABUTI_CONTACT_SAMPLES_H

#include "contact/contact_shared.h"
#include "field/field.h"
#include "mesh/mesh.h"

#include <abut/contact.h>

#include <stdatomic.h>

struct abut_samples {
    abut_context *context;  /* referenced */
    atomic_uint references; /* reference count: the caller and worlds */
    abut_samples_arrays view;
    abut_sample *samples;
    abut_sample_edge *edges;
    /* The same in floats relative to `centre`, as kernels read them: samples, then both ends of
     * each edge with the normal of the edge. */
    contact_point *points;
    vec3 centre;
    double radius;         /* bounding radius of all features about `centre` */
    box3 bounds;           /* of samples and ends of edges; empty if there are none */
    bool has_vertices;     /* all vertices that are not flat are samples, and with them the ends of
                              edges */
    uint32_t *order;       /* features in spatial order; samples come before edges */
    contact_ball *balls;   /* of features, in this order */
    contact_ball *groups;  /* bounding balls of balls */
    contact_part parts[2]; /* samples, edges */
};

/* Adds a reference, which abut_samples_destroy() releases. Null is allowed. Thread-safe. */
abut_samples *abuti_samples_retain(const abut_samples *samples);

/* ---- samples_balls.c ---- */

/* Sorts all features spatially and computes the balls and groups of balls. */
abut_status abuti_samples_build_balls(abut_samples *samples);

/* ---- samples_cache.c ---- */

/* Reads samples from the cache; `found` is false if they are not there or unusable. Fails only if
 * memory cannot be allocated or the call is cancelled. */
abut_status abuti_samples_cache_load(const abuti_cache_entry *entry, const abut_mesh *mesh,
                                     uint32_t kinds, abut_samples *samples, bool *found);
/* Writes samples of the mesh with this digest to the cache. Failures are logged. */
void abuti_samples_cache_store(const abuti_cache_entry *entry,
                               const unsigned char mesh[ABUTI_DIGEST_BYTES],
                               const abut_samples *samples);

/* ---- samples_even.c ---- */

/* A list that grows. */
typedef struct sample_list {
    abut_context *context;
    abut_sample *list;
    size_t count, capacity;
} sample_list;

/* Reserves capacity for `more` samples. */
abut_status abuti_samples_reserve(sample_list *samples, size_t more);
/* Adds evenly spread samples of a mesh with this area: `count` samples, or if this is 0 samples
 * that are at least `radius` apart. */
abut_status abuti_samples_add_even(const abut_mesh *mesh, const abut_normals_arrays *normals,
                                   double area, double radius, uint32_t count,
                                   sample_list *samples);
/* Keeps `max_count` of the samples from `first` on, or if `radius` is positive those that are at
 * least `radius` apart. The order of the samples does not change. */
abut_status abuti_samples_thin(sample_list *samples, size_t first, size_t max_count, double radius);

#endif
