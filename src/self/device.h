/* The view-based search on a device, among its own files. */
#ifndef ABUTI_SELF_DEVICE_H
#define ABUTI_SELF_DEVICE_H

#include "device/kit.h"
#include "self/self.h"
#include "sweep/device.h"

typedef enum view_kernel { VIEW_GATHER, VIEW_TEST, VIEW_SPREAD, VIEW_KERNELS } view_kernel;

typedef enum view_memory {
    VIEW_CORNERS,      /* ghosts too */
    VIEW_AROUND_BEGIN, /* triangles around vertices and edges: lists, */
    VIEW_AROUND,       /* one after the other */
    VIEW_WANTED,       /* vertices that the host looks at: see view_device */
    VIEW_GATHERED,     /* where these are, at the start and at the end */
    VIEW_SETS,         /* ghosts too; as the view test finds them */
    VIEW_OTHER,        /* the same, of the point where the line is compared with it */
    VIEW_LAST,         /* the sets of the last step that was marked; since then also of this one */
    VIEW_TALLIES,
    VIEW_MEMORIES
} view_memory;

/* What comes back, in memory that the device copies by itself. */
typedef struct view_report {
    view_tally tallies[2];
} view_report;

struct view_device {
    abut_sweep *motion; /* its positions, here and there, are those of the view */
    abuti_kit kit;      /* on the queue of the motion */
    abuti_staging reports, gathers;
    view_report *report; /* in `reports` */
    vec3 *gathered;      /* in `gathers`: of the start, then of the end */
    uint32_t wanted;     /* the sample for the view-line, then the rims of holes, loop by loop */
    bool is_gathered;    /* for this step */
    bool tallies_are_zero;
    bool sets_are_here;             /* view->sets are those of VIEW_LAST */
    struct view_boundary *boundary; /* null for a closed mesh of one part */
    uint32_t boundary_room;         /* pairs that its first list has room for */
};

/* Of the kit of the view, and of the motion. */
#define OF_VIEW(which) KIT_BUFFER(&d->kit, which)
#define OF_MOTION(which) ABUTI_BUFFER(&m->memory[which])

/* ---- device_boundary.c ---- */

/* With all else of the device in place. */
abut_status abuti_view_boundary_create(abut_self *view);
/* Nothing where there is none. */
void abuti_view_boundary_destroy(abut_self *view);
/* As backend->boundary; the sets stay there. */
abut_status abuti_view_device_boundary(view_finding *f, bool *is_worth);

#endif
