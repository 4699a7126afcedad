/* abut_bvh_prepare(): builds in advance what queries keep with a BVH.
 *
 * The data belongs to several modules, so the function is in the highest of them. Each step calls
 * the function by which a query creates the data on first use. */
#include "bvh/wide.h"
#include "contact/contact.h"
#include "contact/patch.h"
#include "contact/solid.h"
#include "pair/contour.h"
#include "pair/disc_bounds.h"
#include "sign/sign.h"

#define PREPARE_ALL                                                                             \
    (ABUT_PREPARE_RAYS | ABUT_PREPARE_OVERLAP | ABUT_PREPARE_DISTANCE | ABUT_PREPARE_CONTACTS | \
     ABUT_PREPARE_VOLUME | ABUT_PREPARE_HULL | ABUT_PREPARE_SIGNS)
#define NEEDS_DISTANCE (ABUT_PREPARE_DISTANCE | ABUT_PREPARE_CONTACTS | ABUT_PREPARE_VOLUME)
#define NEEDS_OVERLAP (NEEDS_DISTANCE | ABUT_PREPARE_OVERLAP)

static abut_status prepare_signs(abut_bvh *bvh) {
    abut_sign_info info = abut_sign_info_default();
    abut_status status = abut_sign_get_info(bvh, &info);
    if (!status && info.method == ABUT_SIGN_AUTO)
        status = abut_sign_prepare(bvh, NULL);
    if (status)
        return status;
    return abuti_sign_far(bvh);
}

static abut_status prepare_hull(const abut_bvh *bvh) {
    abut_collider hull = abut_collider_from_hull(bvh, abut_pose_identity());
    return abuti_solid_check("abut_bvh_prepare", "bvh", &hull);
}

static abut_status prepare_distance(const abut_bvh *tree) {
    if (!abuti_pair_slabs_now(tree))
        return ABUT_ERROR_MEMORY;
    return abuti_bvh_prepare_wide(tree, SIZE_MAX);
}

static abut_status prepare_contacts(const abut_bvh *tree) {
    const patch_skin *skin;
    abut_status status = abuti_contact_keep_digest(tree);
    return status ? status : abuti_patch_skin(tree, false, &skin);
}

abut_status abut_bvh_prepare(abut_bvh *bvh, uint32_t data) {
    abut_status status = abuti_bvh_check(__func__, bvh, bvh, "bvh");
    if (status)
        return status;
    if (data & ~(uint32_t)PREPARE_ALL)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: data is 0x%x; it must be a sum of ABUT_PREPARE bits, at most 0x%x",
                          __func__, data, PREPARE_ALL);
    if (data & ABUT_PREPARE_RAYS && !bvh->there && /* a device uses its own tree */
        (status = abuti_bvh_prepare_wide(bvh, SIZE_MAX)))
        return status;
    if (data & ABUT_PREPARE_SIGNS && (status = prepare_signs(bvh)))
        return status;
    if (data & ABUT_PREPARE_HULL && (status = prepare_hull(bvh)))
        return status;
    if (!(data & NEEDS_OVERLAP))
        return ABUT_OK;
    const abut_bvh *tree;
    const bvh_components *components;
    const bvh_interior *interior;
    const closed_surface *surface;
    if ((status = abuti_bvh_cpu_tree(bvh, &tree)) ||
        (status = abuti_bvh_components(tree, &components)) ||
        (status = abuti_bvh_interior(tree, &interior)))
        return status;
    if (data & NEEDS_DISTANCE && (status = prepare_distance(tree)))
        return status;
    if (data & ABUT_PREPARE_CONTACTS && (status = prepare_contacts(tree)))
        return status;
    if (data & ABUT_PREPARE_VOLUME && (status = abuti_pair_closed_surface(tree, &surface)))
        return status;
    return ABUT_OK;
}
