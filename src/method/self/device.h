/* Private types of the view-based search on a device. */
#ifndef ABUTI_SELF_DEVICE_H
#define ABUTI_SELF_DEVICE_H

#include "device/kit.h"
#include "self/self.h"
#include "sweep/device.h"

typedef enum view_kernel { VIEW_GATHER, VIEW_TEST, VIEW_SPREAD, VIEW_KERNELS } view_kernel;

typedef enum view_memory {
    VIEW_CORNERS,      /* ghosts included */
    VIEW_AROUND_BEGIN, /* triangles around vertices and edges: begins of lists, */
    VIEW_AROUND,       /* and their items */
    VIEW_WANTED,       /* vertices that the host reads: see view_device */
    VIEW_GATHERED,     /* their positions, at the start and at the end */
    VIEW_SETS,         /* ghosts included; of the view test */
    VIEW_OTHER,        /* the same of the point, while the line is compared with it */
    VIEW_LAST,         /* sets of the last marked step; after marking, those of this step */
    VIEW_TALLIES,
    VIEW_MEMORIES
} view_memory;

/* Results in staging memory, to which the device copies directly. */
typedef struct view_report {
    view_tally tallies[2];
} view_report;

struct view_device {
    abut_sweep *motion; /* its positions, on the host and on the device, are those of the view */
    abuti_kit kit;      /* on the queue of the motion */
    abuti_staging reports, gathers;
    view_report *report; /* in `reports` */
    vec3 *gathered;      /* in `gathers`: of the start, then of the end */
    uint32_t wanted;  /* number of vertices in VIEW_WANTED: the sample for the view-line, then the
                         boundary loops */
    bool is_gathered; /* for this step */
    bool tallies_are_zero;
    bool sets_are_here; /* view->sets are those of VIEW_LAST */
};

/* Buffers of the kit of the view, and of the motion. */
#define OF_VIEW(which) KIT_BUFFER(&d->kit, which)
#define OF_MOTION(which) ABUTI_BUFFER(&m->memory[which])

#endif
