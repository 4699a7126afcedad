/* Samples of a mesh: the few points, with normals, that stand for its surface where it is tried
 * against a distance field (Sundholm 2010, section 5.1.1, after Erleben 2005).
 *
 * Features: every vertex that is not flat; points along every long edge that is not flat; one point
 * for every large flat region. Flat parts need no more: what comes through them is found by samples
 * of the other body. Even: points spread over the whole surface by area, no two of them nearer than
 * a radius, for smooth dense meshes whose vertices would be too many.
 *
 * The same mesh and options give the same samples in the same order everywhere, and the kind,
 * element and part of a sample name it from frame to frame.
 */
#ifndef ABUT_SAMPLES_H
#define ABUT_SAMPLES_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abut_sample_kind {
    ABUT_SAMPLE_VERTEX = 0, /* element: the vertex */
    ABUT_SAMPLE_EDGE,       /* element: the edge, as the topology numbers it; part: which along it,
                             * counted from 0, or ABUT_SAMPLE_DEEPEST */
    ABUT_SAMPLE_FACE,       /* a flat region; element: its lowest triangle */
    ABUT_SAMPLE_EVEN        /* element: the triangle; part: which on it */
} abut_sample_kind;

/* The part of a contact at the deepest point of an edge, which is no sample. */
#define ABUT_SAMPLE_DEEPEST 0x3ffffffu

typedef struct abut_sample {
    abut_vec3 point;  /* in the coordinates of the mesh */
    abut_vec3 normal; /* unit pseudo-normal of the feature; zero where normals cancel */
    abut_sample_kind kind;
    uint32_t element, part;
} abut_sample;

/* An edge that is not flat and longer than the spacing: colliders look for its deepest point. */
typedef struct abut_sample_edge {
    abut_vec3 end[2];
    abut_vec3 normal;
    uint32_t edge;
} abut_sample_edge;

/* Which samples are made; see abut_samples_options. */
enum {
    ABUT_SAMPLES_VERTICES = 1,
    ABUT_SAMPLES_EDGES = 2,
    ABUT_SAMPLES_FACES = 4,
    ABUT_SAMPLES_EVEN = 8
};

typedef struct abut_samples_options {
    size_t size;
    uint32_t kinds;    /* a sum of the above; 0 = vertices, edges and faces */
    double cell;       /* of the grid that they are for: edges are cut into equal parts no longer
                        * than its diagonal, or than the threshold if that is more. 0 = a 64th of
                        * the longest side of the mesh */
    double threshold;  /* see there */
    double flat_angle; /* radians between normals, up to which two faces are flat; 0 = 0.001 */
    double least_area; /* of a flat region that gets a sample; 0 = four faces of a cell */
    double radius;     /* of even samples: no two on the same side are nearer. 0 = the spacing of
                        * edges, unless a count is given */
    uint32_t count;    /* of even samples: exactly so many, spread as far as they go; 0 = by the
                        * radius */
    uint32_t limit;    /* keep at most so many of all, and those that are spread best; 0 = all */
} abut_samples_options;

static inline abut_samples_options abut_samples_options_default(void) {
    abut_samples_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

typedef struct abut_samples abut_samples;

/* What an abut_samples holds: vertices, edges, faces and even ones one after the other, each by
 * element, then by part. Pointers live as long as the samples. */
typedef struct abut_samples_view {
    uint32_t count, edge_count;
    const abut_sample *samples;
    const abut_sample_edge *edges; /* none where edges are not asked for */
    uint32_t kind_count[4];        /* by abut_sample_kind */
    double spacing;                /* along edges */
    double area;                   /* of the mesh */
} abut_samples_view;

/* Finds the samples of a mesh. `options` may be null. Fails with ABUT_ERROR_LIMIT where there would
 * be too many. Vertices of equal places count as different ones: weld the mesh first. Uses the
 * context of the mesh. Thread-safe. */
ABUT_API abut_status abut_samples_create(abut_mesh *mesh, const abut_samples_options *options,
                                         abut_samples **samples);
/* Null is allowed. Thread-safe when no one else uses the samples. */
ABUT_API void abut_samples_destroy(abut_samples *samples);
/* Null gives an empty view. Thread-safe. */
ABUT_API abut_samples_view abut_samples_get(const abut_samples *samples);

#ifdef __cplusplus
}
#endif

#endif
