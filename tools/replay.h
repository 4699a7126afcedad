/* What the files of abut replay share. */
#ifndef ABUT_REPLAY_H
#define ABUT_REPLAY_H

#include "tool.h"

enum { SCHEMES = 7 };

/* Parts of a step. All but the look at the start, which is made once, are its total. */
enum {
    STAGE_BOUNDS = 0,
    STAGE_START,
    STAGE_VIEW, /* with finding the line */
    STAGE_BOUNDARY,
    STAGE_MARKS,
    STAGE_TRAVERSAL,
    STAGE_ELEMENTARY,
    STAGE_OTHERS, /* of the call: checks, copies, and what devices are sent */
    STAGES
};

/* What can be compared; the first that is wanted is held against the others. */
typedef struct replay_rival {
    const char *name, *about;
    abut_self_scheme scheme;
    abut_self_bounds bounds;
    bool box_boundary;
    bool sweep; /* abut_sweep_find() instead */
} replay_rival;

enum { RIVAL_COMPLETE = 0, RIVAL_BOXES = 1, RIVAL_SWEEP = 2 };
extern const replay_rival replay_rivals[SCHEMES];
extern const char *const replay_stages[STAGES], *const replay_regions[5];

/* What one scheme did. */
typedef struct replay_tally {
    abut_self *view;
    abut_sweep *sweep; /* searches instead, where there is one */
    /* sums over the steps that count */
    double stages[STAGES]; /* seconds */
    double sets[4], entered[4], left[4], regions[5];
    double node_pairs, triangle_pairs, features;
    uint64_t lines; /* of these steps by the line, which regions are of */
    /* over all steps */
    uint64_t hits, fallbacks, differ;
    double mark_all; /* seconds: marks of the first step with sets, when all nodes of the tree are
                      * marked; on the CPU */
} replay_tally;

typedef struct replay {
    const char *path;
    abut_frames *frames;
    abut_frames_info info;
    abut_mesh *mesh;
    uint64_t first, last, every;    /* frames */
    bool aims;                      /* steps go to where vertices were about to go */
    bool companion;                 /* the line is that of the second mesh */
    bool summary;                   /* JSON: no line for each step */
    abut_vec3 *start, *end, *spare; /* of all meshes; the one that deforms stands first */
    replay_tally tallies[SCHEMES];
    bool wanted[SCHEMES];
    abut_device *device; /* null: the CPU */
    abut_device_info place;
    int leader, shown;   /* the first scheme that is wanted, and the first with sets */
    uint32_t (*sets)[4]; /* of `shown` in each step that counts, for the plot */
    uint64_t step_count, counted, done_counted;
    bool differed;
} replay;

double replay_total(const replay_tally *t);

/* ---- replay_say.c ---- */

/* A line of JSON for a step of one scheme. */
void replay_tell(tool_run *tool, const replay *r, uint64_t frame, bool counts, int which,
                 const abut_self_result *result, const double stages[STAGES]);
/* All steps together: tables for people, with --summary an object for programs. */
void replay_say(tool_run *tool, const replay *r);

/* ---- replay_draw.c ---- */

int replay_plot(tool_run *tool, const replay *r, const char *path);
/* Adds the mesh at the end of a step to the page, with the sets in their colours. */
abut_status replay_show(tool_run *tool, const replay *r, const unsigned char *sets);
abut_status replay_picture(tool_run *tool, const tool_arguments *arguments, const replay *r,
                           const unsigned char *sets, const char *path, int *code);

#endif
