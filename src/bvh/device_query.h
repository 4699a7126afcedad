/* A hierarchy on a device with what its queries need: a queue, tools, kernels, scratch memory. */
#ifndef ABUTI_BVH_DEVICE_QUERY_H
#define ABUTI_BVH_DEVICE_QUERY_H

#include "bvh/device.h"
#include "bvh/points.h"
#include "device/tools.h"

#include <abut/nearest.h>

typedef struct nearest_kernels {
    abuti_kernel bounds, keys, gather, seed, find;
    abuti_kernel check, frame, measure, complete;                        /* with doubles */
    abuti_kernel region_boxes, region_seed, region_find, region_measure; /* with features */
} nearest_kernels;

/* Of nearest points; grows as needed and is kept. */
typedef struct nearest_scratch {
    abuti_buffer exact, points, sorted, keys, order, bounds, seeds, counts, places, refused;
    abuti_buffer boxes, wanted, left;
} nearest_scratch;

/* The arrays of abuti_features; none until a batch is large enough for them. */
typedef struct device_features {
    abuti_buffer records, leaf_begin, incident_begin, incidents;
} device_features;

typedef struct ray_kernels {
    abuti_kernel check, find, measure;
} ray_kernels;

typedef struct ray_scratch {
    abuti_buffer counts, places, refused;
} ray_scratch;

/* Lists of answers: see device_gather.h. Kernels are there when needed. */
typedef struct device_gather {
    abuti_kernel pick, lengths_kernel, merge, write;
    abuti_kernel many_bound, many_find, many_judge;
    abuti_kernel ray_find, ray_judge, box_find, box_judge;
    /* A segment of candidates for each question. */
    abuti_buffer begin, places, owners, before, keys, answers, lists[2], lengths, longest;
    abuti_buffer heaps, reaches; /* of many.cl */
} device_gather;

/* Inside and outside. Scratch memory is that of nearest points. */
typedef struct device_sign {
    bool known;           /* what follows is that of the hierarchy */
    bool closed;          /* the surface has no border */
    double facing;        /* as in bvh_sign */
    abuti_buffer normals; /* 7 a triangle, of four doubles each; none where not asked for */
    abuti_buffer fields;  /* bvh_far_node, where there is a border */
    abuti_buffer sums;    /* scratch of winding.cl */
    abuti_kernel by_normals, find, settle; /* none until needed */
    abuti_kernel sum, touch;               /* the same; where there is a border */
} device_sign;

/* The frame of a hierarchy, as kernels take it. */
typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

struct bvh_on_device {
    abut_context *context; /* held */
    const abut_bvh *bvh;   /* whose tree it is, and which has signs and the CPU's arrays */
    abuti_queue queue;     /* of the device, which it holds */
    abuti_tools *tools;
    abuti_bvh_builder *builder; /* of a tree that was built here, else null */
    abuti_bvh_device tree;
    bool broken; /* a refit failed half-way */
    nearest_kernels nearest;
    device_features features;
    size_t features_least; /* points of a batch for which features pay */
    nearest_scratch scratch;
    ray_kernels ray; /* none until there are rays */
    ray_scratch ray_scratch;
    device_gather gather;
    device_sign sign;
    abuti_buffer in, out; /* of points and answers that come from the host */
    /* What fields keep with it from one to the next; see field/build/device.h. */
    void *field;
    void (*field_destroy)(bvh_on_device *bvh);
};

/* Only the device's side of a copy. */
abut_status abuti_bvh_there_copy(const abut_bvh *bvh, abut_device *device, bvh_on_device **there);

typedef struct abuti_kernel_name {
    abuti_kernel *kernel;
    const char *name;
} abuti_kernel_name;

/* The compiler's options for kernels that walk through the tree. */
enum { ABUTI_OPTIONS_BYTES = 64 };
void abuti_device_options(const bvh_on_device *bvh, char options[ABUTI_OPTIONS_BYTES]);

/* Makes kernels of a module. On failure some may have been made. */
abut_status abuti_device_kernels(bvh_on_device *bvh, const char *module,
                                 const abuti_kernel_name *list, size_t count);

/* The same once and for all: nothing where they are there already. */
abut_status abuti_device_need(bvh_on_device *bvh, const char *module, const abuti_kernel_name *list,
                              size_t count);

/* The device's side of a hierarchy, which may be null; refused where it is on the CPU. */
abut_status abuti_device_of(const char *function, const abut_bvh *bvh, bvh_on_device **there);

static inline bool there_has_doubles(const bvh_on_device *there) {
    return there->tree.corners.device != NULL;
}
/* Fails where it has none. */
abut_status abuti_device_check_doubles(const char *function, const bvh_on_device *bvh);

/* Whether a caller's buffer is on the device of the hierarchy and large enough. */
abut_status abuti_device_check_buffer(const char *function, const bvh_on_device *bvh,
                                      const abut_buffer *buffer, size_t count, size_t element_bytes,
                                      const char *what);

static inline size_t groups_of(size_t count, size_t group) {
    return count / group + (count % group != 0);
}

static inline mesh_frame frame_of(const bvh_on_device *bvh) {
    vec3 origin = bvh->tree.mesh->origin;
    mesh_frame frame = {{origin.x, origin.y, origin.z}, bvh->tree.scale};
    return frame;
}

/* ---- device_nearest.c ---- */

abut_status abuti_device_nearest_create(bvh_on_device *bvh);
void abuti_device_nearest_destroy(bvh_on_device *bvh);
/* The tree has changed. */
void abuti_device_nearest_forget(bvh_on_device *bvh);

/* What points ask: abut_nearest, the same with a sign, a byte, a double. As in inside.cl. */
typedef enum abuti_point_quest {
    ABUTI_QUEST_NEAREST = 0,
    ABUTI_QUEST_SIGN,
    ABUTI_QUEST_INSIDE,
    ABUTI_QUEST_WINDING
} abuti_point_quest;

/* Points of the host, which have been checked, in parts that fit the device; it has doubles. */
abut_status abuti_device_points(bvh_on_device *bvh, const bvh_points *points, double radius,
                                abuti_point_quest quest, void *answers);

/* Copies `count` points of the host from `begin` on to the device, and sorts them: `scratch` then
 * has them as nearest.cl says. `room` is for as many points that do not lie close together. */
abut_status abuti_device_points_sort(bvh_on_device *bvh, const bvh_points *points, size_t begin,
                                     uint32_t count, void *room);
/* A radius in floats of the frame, not too small; nothing near is further. */
float abuti_device_reach(const bvh_on_device *bvh, double radius);

/* ---- device_gather.c ---- */

void abuti_device_gather_destroy(bvh_on_device *bvh);

/* ---- device_ray.c ---- */

void abuti_device_rays_destroy(bvh_on_device *bvh);

/* ---- device_sign.c ---- */

/* Copies what the hierarchy knows of inside and outside, if that has not been done; `function` is
 * told where it was not prepared. */
abut_status abuti_device_sign_ready(const char *function, bvh_on_device *bvh);
/* The hierarchy was prepared anew, or refitted. */
void abuti_device_sign_forget(bvh_on_device *bvh);
void abuti_device_sign_destroy(bvh_on_device *bvh);
abut_status abuti_device_sign_need(bvh_on_device *bvh);
/* Queues the answers for the sorted points of nearest.cl; of ABUTI_QUEST_SIGN they are there but
 * for their signs. */
abut_status abuti_device_sign_queue(bvh_on_device *bvh, uint32_t count, uint32_t first,
                                    abuti_point_quest quest, abuti_buffer *answers);
/* Where there is a border: completes the answers of the last part that was queued, which have come
 * back to the host. */
abut_status abuti_device_sign_finish(bvh_on_device *bvh, size_t count, abuti_point_quest quest,
                                     void *answers);

#endif
