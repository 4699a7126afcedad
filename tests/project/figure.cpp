// A C++ user of the installed libraries of pictures and figures.
#include <abut/abut.h>

#include <cstdio>

int main() {
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character *character = nullptr;
    abut_picture *picture = nullptr;
    options.triangles = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
    if (abut_character_create_figure(nullptr, &options, &character) != ABUT_OK ||
        abut_picture_create(nullptr, nullptr, &picture) != ABUT_OK ||
        abut_picture_add_mesh(picture, abut_character_rest_mesh(character), abut_pose_identity(),
                              nullptr) != ABUT_OK ||
        abut_picture_write(picture, "figure.ppm") != ABUT_OK) {
        std::printf("%s\n", abut_last_error());
        return 1;
    }
    std::printf("a %s of %u triangles\n", abut_character_figure_name(options.figure),
                abut_mesh_triangle_count(abut_character_rest_mesh(character)));
    abut_picture_destroy(picture);
    abut_character_destroy(character);
}
