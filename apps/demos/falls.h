/* The scenes of Malmsten and Klasen (2005, chapter 5). Only the results of <abut/layers.h> move
 * the falling bodies.
 *
 *   stairs   spheres bounce down 11 steps. One that is in a step and moves down is reflected
 *            up, with slightly less speed
 *   snow     flakes stick to a rotating model, and to the ground
 *   bounce   spheres reflect off the model by the normals of its edges inside them
 *
 * Every frame can be compared with the exact overlaps of all solids. */
#ifndef FALLS_H
#define FALLS_H

#include <abut/abut.h>

typedef enum falls_kind { FALLS_STAIRS, FALLS_SNOW, FALLS_BOUNCE } falls_kind;

typedef struct falls_options {
    falls_kind kind;
    uint32_t count;      /* of spheres or flakes; 0 = 250, 500, 40 */
    uint32_t resolution; /* of each of three views; 0 = 1024 */
    uint32_t seed;
    double speed;     /* factor on the motion between two frames; 0 = 1 */
    abut_mesh *model; /* of snow and bounce, closed; null = a critter */
    abut_device *device;
} falls_options;

/* The final position of a flake. */
typedef struct falls_stuck {
    uint32_t on; /* the solid */
    abut_pose pose;
} falls_stuck;

typedef struct falls {
    falls_options options;
    abut_context *context;
    abut_mesh *meshes[3]; /* of the bodies; of steps or the model; of the ground */
    abut_bvh *trees[3];
    abut_layers *layers;
    abut_layers_query query;
    uint32_t fixed, count; /* fixed solids come first; all */
    abut_collider *solids; /* their poses; ids of `layers` are indices of this array */
    const abut_bvh **bvhs; /* of each */
    uint32_t *which;       /* index of its mesh */
    abut_vec3 *speeds;     /* of each */
    bool is_held;          /* the model does not turn by itself */
    bool *hit;             /* whether the last response changed it */
    abut_vec3 *normals;    /* bounce: unit normal off which it was last reflected, or zero; only of
                            * bodies that fall */
    abut_pose *before;     /* start of its path in the last step */
    abut_pose *after;      /* end of it; a body that is below everything there is launched again */
    uint64_t random;
    abut_layers_pair *pairs; /* of falls_find() */
    uint64_t pair_count, pair_room;
    abut_layers_hit *hits;
    uint64_t hit_count, hit_room;
    abut_pair_group_hit *exact; /* of falls_check() */
    uint64_t exact_count, exact_room;
    abut_world *world;        /* of falls_sweep(), which creates it */
    abut_world_impact *swept; /* of falls_sweep() */
    uint64_t swept_count, swept_room;
    abut_world_pair *sampled; /* of falls_sample() */
    uint64_t sampled_count;
    falls_stuck *stuck; /* of snow */
    size_t stuck_count, stuck_room;
} falls;

/* Counts of correct and wrong pairs of a list, compared with the exact ones. */
typedef struct falls_score {
    uint64_t found, missed, false_pairs;
    double missed_ball; /* stairs: the largest ball within an overlap that was missed */
} falls_score;

/* Creates a scene in which all bodies are moving. */
abut_status falls_create(abut_context *context, const falls_options *options, falls **scene);
void falls_destroy(falls *scene); /* null is allowed */

/* Finds the current overlaps: fills `pairs`, and `hits` for `bounce`. */
abut_status falls_find(falls *scene);
/* Responds to the overlaps, and moves all bodies by 1/60 s, times the speed. */
abut_status falls_step(falls *scene);
/* Places the model, which no longer turns by itself. */
abut_status falls_hold(falls *scene, abut_pose pose);
/* Removes all flakes that stick, or those before the last `count`. */
void falls_forget_stuck(falls *scene, size_t count);
/* A box that contains the whole scene in all frames. */
abut_box falls_region(const falls *scene);
/* The pixel size of the views. */
double falls_pixel(const falls *scene);

/* Finds the pairs that touch during the last step, by continuous collision detection: fills
 * `swept`. */
abut_status falls_sweep(falls *scene);
/* Finds those that overlap at one of FALLS_INSTANTS equidistant instants of the last step, by exact
 * tests: fills `sampled`, sorted. */
enum { FALLS_INSTANTS = 17 };
abut_status falls_sample(falls *scene);

/* Returns whether two solids are tested against each other. */
bool falls_tries(const falls *scene, uint32_t a, uint32_t b);
/* Finds all pairs that overlap by exact tests: fills `exact`. */
abut_status falls_check(falls *scene);
/* The groups of a solid, as in worlds. */
uint32_t falls_group(const falls *scene, uint32_t solid);
uint32_t falls_mask(const falls *scene, uint32_t solid);
/* Compares sorted pairs with `exact`, and adds to the score. */
void falls_compare(const falls *scene, const abut_world_pair *pairs, uint64_t count,
                   falls_score *score);
/* Sorts pairs and removes repetitions; returns the number of the remaining ones. */
uint64_t falls_sort_pairs(abut_world_pair *pairs, uint64_t count);
/* Copies the ids of the pairs of falls_find(); `names` must have the capacity. */
void falls_names(const falls *scene, abut_world_pair *names);

#endif
