/* Getters by value, for expressions in the programs of this project: `get_bvh_info(bvh).depth`.
 *
 * Each calls the getter of the library of the same name. For a null object all members but the size
 * are zero, and abut_last_error() stays the same: it may have the reason why there is no object.
 */
#ifndef ABUT_APPS_GET_H
#define ABUT_APPS_GET_H

#include <abut/abut.h>

/* get_<module>_<what>(object), by abut_<module>_get_<what>(). */
#define GET(object, module, what, type)                          \
    static inline type get_##module##_##what(const object *of) { \
        type made = type##_default();                            \
        if (of)                                                  \
            abut_##module##_get_##what(of, &made);               \
        return made;                                             \
    }
GET(abut_bvh, bvh, info, abut_bvh_info)
GET(abut_bvh, sign, info, abut_sign_info)
GET(abut_character, character, info, abut_character_info)
GET(abut_device, device, info, abut_device_info)
GET(abut_field, field, info, abut_field_info)
GET(abut_frames, frames, info, abut_frames_info)
GET(abut_map, map, info, abut_map_info)
GET(abut_radial, radial, info, abut_radial_info)
GET(abut_self, self, info, abut_self_info)
GET(abut_normals, normals, arrays, abut_normals_arrays)
GET(abut_samples, samples, arrays, abut_samples_arrays)
GET(abut_scene, scene, arrays, abut_scene_arrays)
GET(abut_topology, topology, arrays, abut_topology_arrays)
GET(abut_picture, picture, options, abut_picture_options)
#undef GET

/* The same for one of several. */
#define GET_ONE(what)                                                                  \
    static inline abut_character_##what get_character_##what(const abut_character *of, \
                                                             uint32_t index) {         \
        abut_character_##what made;                                                    \
        memset(&made, 0, sizeof made);                                                 \
        abut_character_get_##what(of, index, &made);                                   \
        return made;                                                                   \
    }
GET_ONE(bone)
GET_ONE(clip)
GET_ONE(morph)
#undef GET_ONE

static inline abut_scene_body get_scene_body(const abut_scene *scene, uint32_t index) {
    abut_scene_body made = abut_scene_body_default();
    abut_scene_get_body(scene, index, &made);
    return made;
}

static inline abut_radial_view get_radial_field(abut_radial *radial, uint32_t index) {
    abut_radial_view made = abut_radial_view_default();
    abut_radial_get_field(radial, index, &made);
    return made;
}

#endif
