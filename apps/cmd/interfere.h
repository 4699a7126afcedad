/* Assemblies of bodies, and their interferences. */
#ifndef ABUT_TOOL_CLASH_H
#define ABUT_TOOL_CLASH_H

#include "tool.h"

/* ---- assembly.c: many bodies with names ---- */

typedef struct tool_assembly {
    abut_scene *scene;       /* null if bodies come from mesh files */
    const char *path;        /* of the scene; the operand */
    abut_scene_body *bodies; /* names and meshes are owned */
    uint32_t count;
    size_t room;
    abut_bvh **bvhs; /* for each body, once computed; bodies of one mesh share it */
    uint32_t *owner; /* for each: the body that owns it */
} tool_assembly;

/* Returns whether the operands are a scene: one file with the extension .json, or with the
 * content of a scene. For standard input this is known only after reading. */
bool assembly_is_scene(const tool_arguments *arguments);
/* Reads the scene, or the mesh files, of the operands. */
void assembly_load(tool_run *tool, const tool_arguments *arguments, bool parts,
                   tool_assembly *assembly);
void assembly_free(tool_assembly *assembly);
/* Adds the name of a body in error messages: its file, or the scene, its index there, its name
 * and its file. */
void assembly_name(const tool_assembly *assembly, uint32_t body, tool_text *to);
/* Adds a body. */
void assembly_add(tool_assembly *assembly, const char *name, abut_mesh *mesh, abut_pose pose);
/* Returns whether two bodies are tested. */
bool assembly_should_collide(const tool_assembly *assembly, uint32_t a, uint32_t b);
/* Builds the BVHs. */
void assembly_bvhs(tool_assembly *assembly);
abut_collider assembly_posed(const tool_assembly *assembly, uint32_t body);
/* Makes a world of all bodies; ids are their indices. */
void assembly_world(tool_run *tool, tool_assembly *assembly, const abut_world_options *options,
                    abut_world **world);
void assembly_draw(abut_picture *picture, const tool_assembly *assembly, uint32_t body,
                   abut_colour colour);

/* ---- scene_items.c: bodies as items of a world ---- */

/* What an item needs besides the assembly: radial fields, bones and positions of a character. */
typedef struct tool_item {
    abut_radial *radial; /* owned; null unless the item is a character */
    abut_character_matrix *bones;
    abut_vec3 *positions;
} tool_item;

/* Reads the name of a pair method; returns false for other words. */
bool method_named(const char *word, abut_world_method *method);
/* Adds a body to a world; its id is `i` if all bodies are added in order. A body with a skeleton is
 * a character if the method is AUTO or RADIAL, otherwise a mesh. */
abut_status item_add(const tool_assembly *assembly, uint32_t i, abut_world_method method,
                     abut_world *world, tool_item *item);

/* ---- interfere_find.c: which bodies interfere ---- */

typedef enum clash_kind {
    CLASH_OVERLAP = 0, /* in images */
    CLASH_CUTS = 3,    /* a part of both, exact from here on; 1 and 2 were used by abut 0.5 */
    CLASH_A_INSIDE,    /* a is completely inside b */
    CLASH_B_INSIDE,
    CLASH_SAME,  /* both occupy the same points */
    CLASH_FLUSH, /* coincident faces */
    CLASH_TOUCH, /* an edge or a point */
    CLASH_NEAR,
    CLASH_ITSELF,
    CLASH_KINDS
} clash_kind;

const char *clash_kind_name(unsigned kind);    /* for JSON and tables: "a-inside" */
const char *clash_kind_words(clash_kind kind); /* between two names: "is inside" */

typedef struct tool_clash {
    abut_layers_pair pair;
    clash_kind kind;
    double distance;    /* of near pairs; otherwise NaN */
    abut_vec3 from, to; /* their closest points */
} tool_clash;

typedef struct clash_options {
    abut_layers_query query;
    bool cap;
    abut_device *device;
    bool touching;    /* also pairs that only touch */
    double clearance; /* also pairs within this distance; 0 = none */
} clash_options;

typedef struct tool_clashes {
    tool_clash *list; /* sorted by a, then b */
    size_t count, room;
    size_t pair_count; /* found by layers */
    abut_layers *layers;
    uint64_t fragments, candidates;
    double tolerance;
    abut_reliability reliability;
} tool_clashes;

/* */
void clashes_find(tool_run *tool, tool_assembly *assembly, const clash_options *options,
                  tool_clashes *clashes);
/* Prints the reliability of the result, and the bodies that --cap has closed. */
void clashes_print_reliability(tool_run *tool, const tool_assembly *assembly,
                               const clash_options *options, const tool_clashes *clashes);
/* Reports that abut_layers_add() rejected a mesh, with its name, and with `option` instead of
 * the hint of the library for programs. */
_Noreturn void layers_refuse(tool_run *tool, abut_status status, const char *name,
                             const char *option);

/* ---- interfere_draw.c ---- */

/* Draws all bodies translucent and their intersections in colours. */
void clashes_draw(tool_run *tool, const abut_picture_options *camera, tool_assembly *assembly,
                  const tool_clashes *clashes, const char *path);

/* ---- interfere_images.c ---- */

/* Writes images of the first view of a query; their names begin with `prefix`. */
void clashes_images(tool_run *tool, const tool_clashes *clashes, const abut_layers_query *query,
                    const char *prefix);

/* ---- interfere.c ---- */

/* The mean thickness of the intersection: twice the volume over the surface area, exact for
 * slabs and thin shells. NaN if the surface area is not known. */
double clash_thickness(const tool_clash *clash);
/* Prints the number of pairs of each kind; text only. */
void clashes_count(tool_output *out, const tool_clashes *clashes);
/* Prints the first rows of the table, the largest volume first; text only. Returns the exit
 * code. */
void clashes_print(tool_run *tool, const tool_assembly *assembly, const clash_options *options,
                   const tool_clashes *clashes, size_t first);

/* ---- contacts_draw.c ---- */

/* Draws the bodies of a scene translucent, and their contacts with normals. */
void contacts_draw_scene(tool_run *tool, const tool_arguments *arguments,
                         const abut_picture_options *camera, const tool_assembly *assembly,
                         const abut_contact *list, uint64_t count);

/* ---- contacts_scene.c ---- */

/* Prints all contacts of a scene. Returns the exit code. */
int contacts_scene(tool_run *tool, const tool_arguments *arguments);

#endif
