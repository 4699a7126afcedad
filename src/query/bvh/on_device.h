/* A BVH on a device with everything that its batches share: a queue, tools, buffers for input and
 * output. What each kind of query needs in addition is an attachment; see bvh.h. */
#ifndef ABUTI_BVH_ON_DEVICE_H
#define ABUTI_BVH_ON_DEVICE_H

#include "bvh/device.h"
#include "bvh/points.h"
#include "device/kit.h"
#include "device/tools.h"

/* Buffers of all batches. */
enum {
    BVH_IN,  /* queries from the host */
    BVH_OUT, /* results for the host */
    BVH_IO
};

struct bvh_on_device {
    abut_context *context; /* holds a reference */
    const abut_bvh *bvh;   /* the owner, with the sign data and the arrays of the CPU */
    abuti_queue queue;     /* of the device; holds a reference to it */
    abuti_tools *tools;
    abuti_bvh_builder *builder; /* of a tree that was built here, otherwise null */
    abuti_bvh_device tree;
    bool broken; /* a refit failed */
    abuti_kit io;
    bvh_attachments parts;
};

/* Creates only the device side of a copy. */
abut_status abuti_bvh_upload_device_side(const abut_bvh *bvh, abut_device *device,
                                         bvh_on_device **there);

/* The compiler options of kernels that traverse the tree. */
enum { ABUTI_OPTIONS_BYTES = 64 };
void abuti_device_options(const bvh_on_device *bvh, char options[ABUTI_OPTIONS_BYTES]);
/* Those for a tree of this depth that is on a device, or will be. */
void abuti_device_options_of(const abut_device *device, uint32_t depth,
                             char options[ABUTI_OPTIONS_BYTES]);
/* Opens a kit on its queue with these options. */
abut_status abuti_on_device_kit(bvh_on_device *there, const abuti_kit_table *table, abuti_kit *kit);
/* Returns its attachment of a kind; creates it if there is none. */
abut_status abuti_on_device_attachment(bvh_on_device *there, const bvh_attachment_kind *kind,
                                       bvh_attachment **part);

/* An attachment that is only a kit on the queue of a BVH. */
typedef struct bvh_kit {
    bvh_attachment attachment;
    bvh_on_device *there;
    abuti_kit kit;
} bvh_kit;

typedef struct bvh_kit_kind {
    bvh_attachment_kind kind;
    const abuti_kit_table *table;
} bvh_kit_kind;
#define BVH_KIT_KIND(table) \
    { {sizeof(bvh_kit), abuti_bvh_kit_create, NULL, abuti_bvh_kit_destroy}, &(table) }
abut_status abuti_bvh_kit_create(bvh_attachment *attachment, void *owner);
void abuti_bvh_kit_destroy(bvh_attachment *attachment);
/* Returns its kit of a kind; creates it if there is none. */
abut_status abuti_on_device_get_kit(bvh_on_device *there, const bvh_kit_kind *kind, bvh_kit **kit);

/* Downloads results from BVH_OUT, large ones on all threads. Reports progress. */
abut_status abuti_on_device_download(bvh_on_device *there, void *host, size_t count, size_t bytes);

static inline bool on_device_has_doubles(const bvh_on_device *there) {
    return there->tree.corners.device != NULL;
}
/* Fails if the device does not support doubles. */
abut_status abuti_device_check_doubles(const char *function, const bvh_on_device *bvh);

static inline size_t groups_of(size_t count, size_t group) {
    return count / group + (count % group != 0);
}

/* The frame of a BVH, as kernels read it. */
typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

static inline mesh_frame frame_of(const bvh_on_device *bvh) {
    vec3 origin = bvh->tree.mesh->origin;
    mesh_frame frame = {{origin.x, origin.y, origin.z}, bvh->tree.scale};
    return frame;
}

/* Arrays of the tree as kernel arguments. */
#define TREE(there, array) ABUTI_BUFFER(&(there)->tree.array)

#endif
