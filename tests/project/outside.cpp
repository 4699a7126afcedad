// A C++ user of the installed library.
#include <abut/abut.h>

#include <cstdio>

int main() {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh = nullptr;
    if (abut_shape_create(nullptr, &shape, &mesh) != ABUT_OK) {
        std::printf("%s\n", abut_last_error());
        return 1;
    }
    std::printf("a torus of %u triangles, with abut %s\n", abut_mesh_triangle_count(mesh),
                abut_version());
    abut_mesh_destroy(mesh);
}
