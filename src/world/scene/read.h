/* The reader of scenes: what its files share. */
#ifndef ABUTI_SCENE_READ_H
#define ABUTI_SCENE_READ_H

#include "io/json.h"
#include "scene/scene.h"

#define NAME_BYTES 200
#define SPEED_MAX 1e6 /* of velocities, forces of the air, and numbers like them */

/* A name, and the index of the element it refers to. */
typedef struct name_entry {
    const char *name;
    uint32_t index;
    bool group;
} name_entry;

/* A value of a body that is read after all bodies: the name of the one that holds its pins, or its
 * seams. */
typedef struct body_value {
    uint32_t body, at;
} body_value;

typedef struct scene_reader {
    abut_context *context;
    abut_scene_options options;
    const char *path; /* mesh files are relative to its folder; null = mesh files are not allowed */
    char name[400];   /* printable name of the file */
    char place[300];  /* location, such as "bodies[3]" */
    abuti_json json;
    abut_scene *scene;
    char *letter;      /* where the next name is stored */
    name_entry *names; /* of meshes while bodies are read, then of bodies and groups */
    size_t name_count;
    uint64_t shape_triangles;
    uint32_t garment_count;
    uint64_t pinned_vertices, sewn_vertices;
    body_value *targets, *seams;
    size_t target_count, target_room, seam_count, seam_room;
} scene_reader;

/* Sets the error message: the name of the file, the location, and these words. */
abut_status abuti_scene_fail(scene_reader *r, const char *format, ...) ABUTI_PRINTF(2, 3);

static inline const abuti_json_value *value_at(const scene_reader *r, uint32_t at) {
    return &r->json.values[at];
}

/* A text for an error message or a short name; longer ones are truncated. */
const char *abuti_scene_word(const scene_reader *r, uint32_t at, char word[100]);

/* ---- members of objects ---- */

typedef struct member {
    const char *name;
    abuti_json_kind kind;
    abuti_json_kind other; /* a second allowed kind, or the same kind */
    uint32_t at;           /* out: index of the value; 0 = missing */
} member;

#define MEMBER(name, kind) \
    { name, ABUTI_JSON_##kind, ABUTI_JSON_##kind, 0 }
#define MEMBER_OR(name, kind, other) \
    { name, ABUTI_JSON_##kind, ABUTI_JSON_##other, 0 }

/* Finds the members of an object. */
abut_status abuti_scene_members(scene_reader *r, uint32_t object, member *members, size_t count);
/* Exactly `count` numbers of a list. */
abut_status abuti_scene_list(scene_reader *r, const member *m, uint32_t count, double *numbers);
/* A number above 0, or in a range. */
abut_status abuti_scene_positive(scene_reader *r, const member *m, double *number);
abut_status abuti_scene_range(scene_reader *r, const member *m, double low, double high,
                              double *number);
/* Finds the entry of `names` with the name of a value; null if there is none. */
const name_entry *abuti_scene_find_name(const scene_reader *r, uint32_t at);

/* ---- read_motion.c: what moves bodies ---- */

enum {
    MOTION_MASS,
    MOTION_DENSITY,
    MOTION_VELOCITY,
    MOTION_SPIN,
    MOTION_FRICTION,
    MOTION_BOUNCE,
    MOTION_SELF,
    MOTION_CLOTH,
    MOTION_PINS,
    MOTION_SEAMS,
    MOTION_MEMBERS
};
/* These members, as entries of the table of a body. */
#define MOTION_TABLE                                                                       \
    MEMBER("mass", NUMBER), MEMBER("density", NUMBER), MEMBER("velocity", LIST),           \
        MEMBER("spin", LIST), MEMBER("friction", NUMBER), MEMBER("bounce", NUMBER),        \
        MEMBER("self", BOOLEAN), MEMBER("cloth", OBJECT), MEMBER_OR("pins", LIST, OBJECT), \
        MEMBER("seams", LIST)

/* Reads them, once the body has its mesh `from` and its collider. */
abut_status abuti_scene_read_motion(scene_reader *r, const member *m, scene_mesh *from,
                                    uint32_t index);
/* Finds the bodies that pins are attached to. */
abut_status abuti_scene_find_targets(scene_reader *r);
/* All vertices of a mesh in a box of its coordinates; at least one. */
abut_status abuti_scene_find_in_box(scene_reader *r, const member *box, const abut_mesh *mesh,
                                    uint32_t *to, uint32_t *count);
/* Reads `up`, `gravity`, `wind` and `drag` of the file, in this order. */
#define AIR_MEMBERS 4
#define AIR_TABLE \
    MEMBER("up", TEXT), MEMBER("gravity", LIST), MEMBER("wind", LIST), MEMBER("drag", NUMBER)
abut_status abuti_scene_read_air(scene_reader *r, const member *m);

/* ---- read_seams.c ---- */

/* Reads the seams of all bodies, once these are read. */
abut_status abuti_scene_read_seams(scene_reader *r);

#endif
