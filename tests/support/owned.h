/* Objects that are destroyed at the end of the block that declares them:
 *     TEST_MESH *mesh = make_box(1, 2, 3);
 * They have to be null or valid by then. Several in one declaration are possible. */
#ifndef ABUT_TEST_OWNED_H
#define ABUT_TEST_OWNED_H

#include <abut/abut.h>

#define TEST_DESTROYER(type)                                       \
    static inline void test_destroy_##type(abut_##type **object) { \
        abut_##type##_destroy(*object);                            \
    }
#define TEST_OWNED(type) __attribute__((cleanup(test_destroy_##type))) abut_##type

TEST_DESTROYER(mesh)
TEST_DESTROYER(bvh)
TEST_DESTROYER(map)
TEST_DESTROYER(field)
TEST_DESTROYER(layers)
TEST_DESTROYER(raster)

#define TEST_MESH TEST_OWNED(mesh)
#define TEST_BVH TEST_OWNED(bvh)
#define TEST_MAP TEST_OWNED(map)
#define TEST_FIELD TEST_OWNED(field)
#define TEST_LAYERS TEST_OWNED(layers)
#define TEST_RASTER TEST_OWNED(raster)

#endif
