/* Declarations of abut replay. */
#ifndef ABUT_REPLAY_H
#define ABUT_REPLAY_H

#include "tool.h"

enum { SCHEMES = 5 };

/* Stages of a step. All except the intersection test at the start, which is made once, are in
 * the total. */
enum {
    STAGE_BOUNDS = 0,
    STAGE_START,
    STAGE_VIEW, /* including the view-line */
    STAGE_BOUNDARY,
    STAGE_MARKS,
    STAGE_SEARCH,
    STAGE_OTHERS, /* of the call: validation, copies, uploads */
    STAGES
};

/* The schemes; the first selected one is compared with the others. */
typedef struct replay_rival {
    const char *name, *about;
    abut_self_scheme scheme;
    bool box_boundary;
    bool sweep; /* abut_sweep_find() instead */
} replay_rival;

enum { RIVAL_SWEEP = 0, RIVAL_POINT, RIVAL_LINE };
extern const replay_rival replay_rivals[SCHEMES];
extern const char *const replay_stages[STAGES], *const replay_regions[5];

/* The results of one scheme. */
typedef struct replay_tally {
    abut_self *view;
    abut_sweep *sweep; /* searches instead, if not null */
    /* sums over the steps that count */
    double stages[STAGES]; /* seconds */
    double sets[4], entered[4], left[4], regions[5];
    double features;
    uint32_t (*sets_of)[4]; /* `sets` of each counted step, for the plot; null for all pairs */
    uint64_t lines;         /* number of steps with the view-line, for `regions` */
    /* over all steps */
    uint64_t hits, fallbacks, differ;
    uint64_t counted_hits; /* of the steps that count */
} replay_tally;

typedef struct replay {
    const char *path;
    tool_recording recording; /* its first mesh deforms */
    abut_mesh *mesh;
    uint64_t every; /* frames */
    bool companion; /* the view-line is that of the second mesh */
    bool summary;   /* JSON: no line for each step */
    replay_tally tallies[SCHEMES];
    bool wanted[SCHEMES];
    abut_device *device; /* null: the CPU */
    int leader, shown;   /* the first selected scheme, and the first with view sets */
    uint64_t step_count, counted, done_counted;
    bool differed;
} replay;

double replay_total(const replay_tally *t);

/* ---- replay_print.c ---- */

/* Prints a line of JSON for a step of one scheme. */
void replay_print_step(tool_run *tool, const replay *r, uint64_t frame, bool counts, int which,
                       const abut_self_result *result, const double stages[STAGES]);
/* Prints all steps together: tables of text, or with --summary a JSON object. */
void replay_print_summary(tool_run *tool, const replay *r);

/* ---- replay_draw.c ---- */

void replay_plot(tool_run *tool, const replay *r, const char *path);
/* Adds the mesh at the end of a step to the page, with the colours of the view sets. */
void replay_show(tool_run *tool, const replay *r, const unsigned char *sets);
void replay_picture(tool_run *tool, const tool_arguments *arguments, const replay *r,
                    const unsigned char *sets, const char *path);

#endif
