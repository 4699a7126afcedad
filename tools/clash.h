/* Assemblies of bodies, and which of them interfere. */
#ifndef ABUT_TOOL_CLASH_H
#define ABUT_TOOL_CLASH_H

#include "tool.h"

/* ---- assembly.c: many bodies with names ---- */

typedef struct tool_assembly {
    abut_scene *scene;       /* null where bodies come from mesh files */
    const char *path;        /* of the scene; the operand */
    abut_scene_body *bodies; /* from malloc; their names and meshes are held */
    uint32_t count;
    size_t room;
    abut_bvh **bvhs; /* a body, once asked for; bodies of one mesh have the same */
    uint32_t *owner; /* of each: the body that holds it */
} tool_assembly;

/* Whether the operands are a scene: one file that ends in .json, or holds a scene. What standard
 * input is, is known only once it is read. */
bool assembly_is_scene(const tool_arguments *arguments);
/* Reads the scene, or the mesh files, that the operands name. 0, or the exit code after the error
 * was reported; to be freed in either case. */
int assembly_load(tool_run *tool, const tool_arguments *arguments, bool parts,
                  tool_assembly *assembly);
void assembly_free(tool_assembly *assembly);
/* Adds what errors call a body: its file, or the scene, its place there, its name and its file. */
void assembly_name(const tool_assembly *assembly, uint32_t body, tool_text *to);
/* Adds a body; false where memory runs out. */
bool assembly_add(tool_assembly *assembly, const char *name, abut_mesh *mesh, abut_pose pose);
/* Whether two bodies are to be tried. */
bool assembly_tries(const tool_assembly *assembly, uint32_t a, uint32_t b);
/* Makes the hierarchies. */
int assembly_bvhs(tool_run *tool, tool_assembly *assembly);
abut_posed assembly_posed(const tool_assembly *assembly, uint32_t body);
/* Makes a world of all bodies; ids are their numbers. */
int assembly_world(tool_run *tool, tool_assembly *assembly, const abut_world_options *options,
                   abut_world **world);
abut_status assembly_draw(abut_picture *picture, const tool_assembly *assembly, uint32_t body,
                          abut_colour colour);

/* ---- clash.c: which bodies interfere ---- */

typedef enum clash_kind {
    CLASH_OVERLAP = 0, /* in images */
    CLASH_CUTS = 3,    /* a part of both, from here on exactly; 1 and 2 were used by abut 0.5 */
    CLASH_A_INSIDE,    /* all of a */
    CLASH_B_INSIDE,
    CLASH_SAME,  /* all of both */
    CLASH_FLUSH, /* faces that lie on each other */
    CLASH_TOUCH, /* an edge or a point */
    CLASH_NEAR,
    CLASH_ITSELF,
    CLASH_KINDS
} clash_kind;

const char *clash_kind_name(unsigned kind);    /* for programs: "a-inside" */
const char *clash_kind_words(clash_kind kind); /* between two names: "is inside" */

typedef struct tool_clash {
    abut_layers_pair pair;
    clash_kind kind;
    double distance;    /* of those that are near; else NaN */
    abut_vec3 from, to; /* their closest points */
} tool_clash;

typedef struct clash_options {
    abut_layers_query query;
    bool cap;
    abut_device *device;
    bool touching;    /* also those that only touch */
    double clearance; /* also pairs that are this near; 0 = none */
} clash_options;

typedef struct tool_clashes {
    tool_clash *list; /* by a, then b; from malloc */
    size_t count, room;
    size_t pair_count; /* found by layers */
    abut_layers *layers;
    uint64_t fragments, candidates;
    double tolerance;
    abut_reliability reliability;
} tool_clashes;

/* 0, or the exit code after the error was reported; to be freed in either case. */
int clashes_find(tool_run *tool, tool_assembly *assembly, const clash_options *options,
                 tool_clashes *clashes);
void clashes_free(tool_clashes *clashes);
/* Says what the answer is good for, and which bodies --cap has closed. */
void clashes_advise(tool_run *tool, const tool_assembly *assembly, const clash_options *options,
                    const tool_clashes *clashes);
/* Says that abut_layers_add() refused a mesh, with its name, and `option` in place of what the
 * sentence advises to programs. The exit code. */
int layers_refuse(tool_run *tool, abut_status status, const char *name, const char *option);

/* ---- clash_draw.c ---- */

/* Draws all bodies as glass and what they have in common in colours. Gives the exit code. */
int clashes_draw(tool_run *tool, const abut_picture_options *camera, tool_assembly *assembly,
                 const tool_clashes *clashes, const char *path);

/* ---- clash_images.c ---- */

/* Writes what the first view of a query sees as images whose names begin with `prefix`. */
int clashes_images(tool_run *tool, const tool_clashes *clashes, const abut_layers_query *query,
                   const char *prefix);

/* ---- command_interfere.c ---- */

/* The mean thickness of the common solid: twice the volume over the surface, exact for slabs and
 * thin shells. NaN if the surface is not known. */
double clash_thickness(const tool_clash *clash);
/* Says how many pairs there are of each kind; to people only. */
void clashes_count(tool_output *out, const tool_clashes *clashes);
/* Shows the first rows of the table to people, the largest volume first. The exit code. */
int clashes_say(tool_run *tool, const tool_assembly *assembly, const clash_options *options,
                const tool_clashes *clashes, size_t first);

/* ---- contacts_scene.c ---- */

/* All contacts of a scene. The exit code. */
int contacts_scene(tool_run *tool, const tool_arguments *arguments);

#endif
