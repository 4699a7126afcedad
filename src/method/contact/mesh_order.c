/* A total order of meshes, which makes contacts independent of which body is called a.
 *
 * Meshes are compared by their sizes, then by their first vertices, which usually differ. Copies of
 * a mesh and partly deformed meshes agree in these. They are compared by a checksum of 64 bits that
 * is cached in the BVH until it is refitted. Different meshes with the same checksum count as
 * equal. Then the poses decide; the contacts are correct in either order.
 */
#include "base/checksum.h"
#include "contact/patch.h"

#include <string.h>

enum { FIRST_VERTICES = 16 };

typedef struct shape_digest {
    bvh_attachment part;
    uint64_t value;
} shape_digest;

static uint64_t compute_digest(const abut_mesh *mesh) {
    const uint64_t parts[2] = {
        abuti_checksum(mesh->positions, mesh->vertex_count * sizeof *mesh->positions),
        abuti_checksum(mesh->indices, 3 * (size_t)mesh->triangle_count * sizeof *mesh->indices)};
    return abuti_checksum(parts, sizeof parts);
}

static abut_status create_digest(bvh_attachment *part, void *owner) {
    ((shape_digest *)(void *)part)->value = compute_digest(((const abut_bvh *)owner)->mesh);
    return ABUT_OK;
}

static void destroy_digest(bvh_attachment *part) {
    (void)part;
}

static const bvh_attachment_kind digest_kind = {sizeof(shape_digest), create_digest,
                                                abuti_bvh_discard_attachment, destroy_digest};

abut_status abuti_contact_keep_digest(const abut_bvh *bvh) {
    bvh_attachment *part;
    return abuti_bvh_share_attachment(bvh, &digest_kind, &part);
}

uint64_t abuti_contact_shape_digest(const abut_bvh *bvh) {
    bvh_attachment *part;
    return abuti_bvh_share_attachment(bvh, &digest_kind, &part)
               ? compute_digest(bvh->mesh) /* not cached if memory fails */
               : ((const shape_digest *)(const void *)part)->value;
}

int abuti_patch_order(const abut_bvh *a, const abut_bvh *b) {
    const abut_mesh *p = a->mesh, *q = b->mesh;
    if (p == q)
        return 0;
    if (p->triangle_count != q->triangle_count)
        return p->triangle_count < q->triangle_count ? -1 : 1;
    if (p->vertex_count != q->vertex_count)
        return p->vertex_count < q->vertex_count ? -1 : 1;
    const size_t few = p->vertex_count < FIRST_VERTICES ? p->vertex_count : FIRST_VERTICES;
    int order = memcmp(p->positions, q->positions, few * sizeof *p->positions);
    if (order)
        return order;
    const uint64_t x = abuti_contact_shape_digest(a), y = abuti_contact_shape_digest(b);
    if (x != y)
        return x < y ? -1 : 1;
    return memcmp(&p->origin, &q->origin, sizeof p->origin); /* equal copies at different origins */
}
