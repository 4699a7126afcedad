/* Concave meshes in MuJoCo 4: mesh geoms collide by exact contacts of abut instead of their convex
 * hulls.
 *
 *     #include <mujoco/mujoco.h>
 *     #include "abut_mujoco.h"
 *
 *     abut_mujoco_install_model(model, NULL);  // after mj_loadXML()
 *     ...
 *     abut_mujoco_uninstall(model);            // before mj_deleteModel()
 *
 * Method: MuJoCo calls a function of its table mjCOLLISIONFUNC for each pair of geoms that may
 * touch. abut_mujoco_install() replaces the functions of pairs with a geom of type "mesh", or "sdf"
 * with a mesh. The replacement computes contacts by abut_contact_find() if the model is installed
 * and one geom of the pair is concave. Otherwise it calls MuJoCo's function, as it does after an
 * error.
 *
 * Contacts depend only on the poses of the pair: there is no memory of previous steps. So mj_step()
 * remains a function of the state, on any number of threads.
 *
 * MuJoCo limits the contacts of a pair (mj_maxContact): 4 for two meshes, 1 for a mesh and a
 * sphere, up to 50 if a geom has type "sdf". If there are more, a subset is kept that has the
 * deepest contact of each wall and is distributed well.
 *
 * abut_mujoco.c includes no header of MuJoCo, so one binary serves all releases with the same
 * signature of mjfCollision and the same mjPreContact: 4.x. */
#ifndef ABUT_MUJOCO_H
#define ABUT_MUJOCO_H

#include <abut/abut.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef _WIN32
#define ABUT_MUJOCO_API __declspec(dllexport)
#else
#define ABUT_MUJOCO_API __attribute__((visibility("default")))
#endif

/* The structures of MuJoCo, by the tags of its headers. */
struct mjModel_;
struct mjData_;
struct mjPreContact_;

/* The type mjfCollision of MuJoCo 4. */
typedef int abut_mujoco_collider(const struct mjModel_ *model, struct mjData_ *data,
                                 struct mjPreContact_ *contacts, int g1, int g2, double margin);

/* The parts of the engine that colliders use: the same for all models. */
typedef struct abut_mujoco_engine {
    abut_mujoco_collider **colliders;                           /* mjCOLLISIONFUNC: rows of 9 */
    int (*max_contact)(const struct mjModel_ *, int, int, int); /* mj_maxContact */
    void (*warn)(const char *, ...);  /* mju_warning; null = do not warn */
    size_t xpos_offset, xquat_offset; /* of the pointers geom_xpos and geom_xquat in mjData */
} abut_mujoco_engine;

/* The members of mjModel that colliders use, by their names there. */
typedef struct abut_mujoco_model {
    const struct mjModel_ *model;
    uint32_t ngeom, nmesh;
    const int *geom_type, *geom_dataid, *geom_plugin;
    const double *geom_size;
    const int *mesh_vertadr, *mesh_vertnum, *mesh_faceadr, *mesh_facenum;
    const float *mesh_vert;
    const int *mesh_face;
    const int *hfield_nrow, *hfield_ncol, *hfield_adr;
    const double *hfield_size;
    const float *hfield_data;
} abut_mujoco_model;

typedef struct abut_mujoco_options {
    const bool *geoms;   /* ngeom values: geoms that keep MuJoCo's colliders have false; null = all
                          * geoms use abut */
    bool include_convex; /* use abut for pairs of convex geoms too */
    bool include_fields; /* use abut for meshes on height fields too, by a closed mesh of each field
                          * as it is now, with about 500 bytes for each of its points */
    abut_context *context; /* its allocator is used until the model is uninstalled; null = a context
                            * with one thread */
} abut_mujoco_options;

/* Installs a model: builds a BVH of each of its meshes, shared by all geoms, and replaces the
 * functions of the table. A model that is installed already gets the new options. `options` may be
 * null. The model must not be stepped during the call. Returns ABUT_ERROR_ARGUMENT if abut rejects
 * a mesh, and ABUT_ERROR_MEMORY; nothing is installed then. Thread-safe for different models. */
ABUT_MUJOCO_API abut_status abut_mujoco_install(const abut_mujoco_engine *engine,
                                                const abut_mujoco_model *model,
                                                const abut_mujoco_options *options);

/* Uninstalls a model, which then collides by convex hulls again. Call it before the model is
 * deleted. The model must not be stepped during the call. The last call restores MuJoCo's table.
 * Returns false if the model is not installed. Thread-safe for different models. */
ABUT_MUJOCO_API bool abut_mujoco_uninstall(const struct mjModel_ *model);

/* What an installed model has collided. */
typedef struct abut_mujoco_info {
    uint32_t concave_mesh_count; /* meshes of geoms that are not convex */
    uint32_t limited_mesh_count; /* meshes that are not closed and oriented: contacts are not
                                  * guaranteed */
    uint32_t limited_mesh;       /* the first of them */
    uint64_t error_count;        /* pairs that MuJoCo's function collided because of an error */
} abut_mujoco_info;

/* Stores information about an installed model. Returns false if it is not installed. Thread-safe.
 */
ABUT_MUJOCO_API bool abut_mujoco_get_info(const struct mjModel_ *model, abut_mujoco_info *info);

#ifdef mjVERSION_HEADER /* mujoco.h is included */
#if mjVERSION_HEADER < 4000000 || mjVERSION_HEADER >= 5000000
#error "abut_mujoco.h requires MuJoCo 4"
#endif
#ifdef mjUSESINGLE
#error "abut_mujoco.h requires MuJoCo with double precision"
#endif
/* abut_mujoco_install() for a model of the library that the program is linked with. */
static inline abut_status abut_mujoco_install_model(const mjModel *m,
                                                    const abut_mujoco_options *options) {
    abut_mujoco_engine engine = {&mjCOLLISIONFUNC[0][0], mj_maxContact, mju_warning,
                                 offsetof(mjData, geom_xpos), offsetof(mjData, geom_xquat)};
    abut_mujoco_model model = {m,
                               (uint32_t)m->ngeom,
                               (uint32_t)m->nmesh,
                               m->geom_type,
                               m->geom_dataid,
                               m->geom_plugin,
                               m->geom_size,
                               m->mesh_vertadr,
                               m->mesh_vertnum,
                               m->mesh_faceadr,
                               m->mesh_facenum,
                               m->mesh_vert,
                               m->mesh_face,
                               m->hfield_nrow,
                               m->hfield_ncol,
                               m->hfield_adr,
                               m->hfield_size,
                               m->hfield_data};
    return abut_mujoco_install(&engine, &model, options);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
