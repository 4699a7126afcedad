/* Fields, maps, images and radial fields at all scales (project/range.h): their values are 32-bit
 * floats. */
#include "project/range.h"

static void try_fields(trial *t) {
    abut_field_options options = abut_field_options_default();
    abut_samples_options samples_options = abut_samples_options_default();
    abut_field *field = NULL;
    AUTO(samples) samples = NULL;
    abut_mesh *surface = NULL;
    abut_field_value value;
    static abut_contact list[8192];
    abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 8192};
    options.cells = 24;
    samples_options.kinds =
        ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES | ABUT_SAMPLES_FACES | ABUT_SAMPLES_SURFACE;
    samples_options.cell = 0.1 * t->scale;
    const bool has_samples = TRY(abut_samples_create(t->mesh[0], &samples_options, &samples));
    if (has_samples && t->compares)
        same(t, "samples", get_samples_arrays(samples).count, 0, 0.05);
    samples_options = abut_samples_options_default();
    samples_options.count = 200;
    samples_options.kinds = ABUT_SAMPLES_SURFACE;
    abut_samples *even = NULL;
    TRY(abut_samples_create(t->mesh[1], &samples_options, &even));
    abut_samples_destroy(even);
    even = NULL;
    TRY(abut_samples_create(t->mesh[1], NULL, &even));
    abut_samples_destroy(even);
    if (TRY(abut_field_create(t->mesh[0], &options, &field))) {
        NEED(abut_field_evaluate(field, at(t, 0.3, 0.2, 0.1), ABUT_INTERPOLATION_LINEAR, &value));
        same(t, "field", value.distance, 1, 1e-5);
        TRY(abut_field_isosurface(field, 0, &surface));
        abut_mesh_destroy(surface);
        const abut_collider a = abut_collider_from_field(field, samples, t->posed[0].pose),
                            b = abut_collider_from_field(field, samples, t->posed[1].pose);
        const abut_ray ray = {at(t, 3, 0, 0), at(t, -1, 0, 0)};
        abut_field_hit hit;
        TRY(abut_contact_find_sampled(&a, &b, NULL, &contacts));
        TRY(abut_contact_ray(&a, &ray, INFINITY, &hit));
    }
    abut_field_destroy(field);
    field = NULL;
    options.layout = ABUT_FIELD_SPARSE;
    options.type = ABUT_FIELD_INT16;
    TRY(abut_field_create(t->mesh[0], &options, &field));
    abut_field_destroy(field);
}

static void try_measures(trial *t, const abut_map *map, const char *name, bool exact) {
    abut_map_measure_options options = abut_map_measure_options_default();
    abut_map_measures m = abut_map_measures_default();
    const double half = 0.5;
    double value;
    options.within = t->scale;
    options.quantiles = &half;
    options.quantile_count = 1;
    options.exact = exact;
    if (!TRY(abut_map_measure(map, &options, &value, &m)))
        return;
    if (t->flatness != 1 && !m.found)
        return; /* it has no thickness */
    assert_true(m.found > 0);
    char fact_name[NAME];
    snprintf(fact_name, sizeof fact_name, "%s least", name);
    same(t, fact_name, m.min.distance, 1, 1e-5);
    snprintf(fact_name, sizeof fact_name, "%s greatest", name);
    same(t, fact_name, m.max.distance, 1, 1e-5);
    snprintf(fact_name, sizeof fact_name, "%s half", name);
    same(t, fact_name, value, 1, 1e-5);
    const double barycentric[3] = {0.2, 0.3, 0.5};
    double areas[4];
    abut_map_value here;
    TRY(abut_map_evaluate(map, 3, barycentric, &here));
    TRY(abut_map_histogram(map, 0, t->scale, 4, areas));
}

static void try_maps(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = ROOM,
                          .contacts.list = contacts,
                          .contacts.capacity = sizeof contacts / sizeof *contacts};
    abut_map_options options = abut_map_options_default();
    abut_map_query query = abut_map_query_default();
    abut_patch_options patch_options = abut_patch_options_default();
    abut_pair_hausdorff_result result = abut_pair_hausdorff_result_default();
    abut_map *map = NULL;
    options.resolution = 40;
    patch_options.margin = 0.1 * t->scale;
    if (TRY(abut_map_create(t->mesh[0], &options, &map))) {
        assert_true(isfinite(get_map_info(map).reach) && get_map_info(map).reach > 0);
        if (TRY(abut_map_compute_distance(map, &t->apart, 1, NULL)))
            try_measures(t, map, "map apart", true);
        if (TRY(abut_map_compute_distance(map, &t->posed[1], 1, NULL))) {
            try_measures(t, map, "map", false);
            TRY(abut_map_contacts(map, &patch_options, &found));
        }
        query.limit = t->scale;
        const abut_collider both[2] = {t->posed[1], t->apart};
        TRY(abut_map_compute_distance(map, both, 2, &query));
        if (TRY(abut_map_compute_self_distance(map, NULL)))
            try_measures(t, map, "map self", false);
        query.geodesic = 0.3 * t->scale;
        TRY(abut_map_compute_self_distance(map, &query));
        for (int kind = 0; kind <= ABUT_MAP_THICKNESS_BALL; kind++)
            if (TRY(abut_map_compute_thickness(map, (abut_map_thickness)kind, NULL)))
                try_measures(t, map, kind ? "ball" : "thickness", false);
        TRY(abut_map_set_mesh(map, t->mesh[0]));
        TRY(abut_map_replace_mesh(map, t->mesh[1], NULL));
    }
    abut_map_destroy(map);
    if (TRY(abut_pair_hausdorff(t->bvh[0], t->bvh[1], NULL, &result))) {
        assert_true(result.lower <= result.upper);
        same(t, "hausdorff lower", result.lower, 1, 1e-5);
        same(t, "hausdorff upper", result.upper, 1, 1e-5);
    }
    TRY(abut_pair_hausdorff(t->bvh[0], t->bvh[0], NULL, &result));
}

static void try_images(trial *t) {
    static uint32_t items[64 * 64];
    static float pixels[64 * 64], depths[64 * 64];
    static uint8_t colours[4 * 96 * 64];
    abut_raster_view view = abut_raster_view_default();
    abut_raster *raster = NULL;
    const abut_collider drawn[2] = {abut_collider_from_mesh(t->mesh[0], t->posed[0].pose),
                                    abut_collider_from_mesh(t->mesh[1], t->posed[1].pose)};
    abut_raster_image image = {.size = sizeof(abut_raster_image),
                               .capacity = 64 * 64,
                               .items = abut_array_host(items)},
                      deep = {.size = sizeof(abut_raster_image),
                              .capacity = 64 * 64,
                              .depths = abut_array_host(depths)};
    view.width = view.height = 64;
    assert_ok(abut_raster_create(NULL, NULL, &raster));
    for (int k = 0; k < 2; k++) {
        view.perspective = k;
        view.eye = at(t, 3, 3, 3);
        view.direction = (abut_vec3){-1, -1, -1};
        view.angle = k;
        if (TRY(abut_raster_draw(raster, &view, drawn, 2, &image)) && t->compares) {
            uint32_t covered = 0;
            for (int i = 0; i < 64 * 64; i++)
                covered += items[i] != ABUT_NONE;
            same(t, k ? "pixels with an eye" : "pixels", covered, 0, 0.01);
        }
        if (TRY(abut_raster_draw(raster, &view, drawn, 2, &deep))) {
            float least = INFINITY;
            for (int i = 0; i < 64 * 64; i++)
                least = fminf(least, depths[i]);
            same(t, k ? "depth from an eye" : "depth", (double)least, 1, 1e-5);
        }
    }
    abut_raster_destroy(raster);

    abut_layers *layers = NULL;
    abut_layers_pair pairs[4];
    abut_layers_result result = {.size = sizeof result, .pairs.list = pairs, .pairs.capacity = 4};
    abut_layers_query query = abut_layers_query_default();
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    bool added = true;
    for (int i = 0; i < 3; i++) {
        uint32_t id;
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(t->mesh[i > 0],
                                                                     i == 2 ? t->apart.pose
                                                                            : t->posed[i].pose)};
        added = TRY(abut_layers_add(layers, &item, &id)) && added;
    }
    query.resolution = 64;
    for (int k = 0; k < 3 && added; k++) {
        query.is_exact = k == 1;
        query.measure_volume = k == 2;
        if (TRY(abut_layers_find(layers, &query, &result)) && t->compares) {
            assert_int_equal(1, result.pairs.count);
            same(t,
                 k == 0   ? "layers"
                 : k == 1 ? "layers exact"
                          : "layers volume",
                 pairs[0].volume, 3, COARSE);
        }
    }
    uint32_t width = 0, height = 0;
    abut_raster_view along = abut_raster_view_default();
    along.width = along.height = 64;
    if (added && TRY(abut_layers_image(layers, &along, ABUT_LAYERS_LENGTH, 64 * 64, pixels, &width,
                                       &height)))
        same(t, "length", (double)pixels[32 * 64 + 32], 1, 1e-5);
    if (added &&
        TRY(abut_layers_image(layers, &along, ABUT_LAYERS_COUNT, 64 * 64, pixels, &width, &height)))
        same(t, "count", (double)pixels[32 * 64 + 32], 0, EXACT);
    abut_layers_destroy(layers);

    abut_picture_options options = abut_picture_options_default();
    AUTO(picture) picture = NULL;
    options.width = 96;
    options.height = 64;
    options.ground = true;
    assert_ok(abut_picture_create(NULL, &options, &picture));
    TRY(abut_picture_add_mesh(picture, t->mesh[0], t->posed[0].pose, NULL));
    TRY(abut_picture_add_mesh(picture, t->mesh[1], t->posed[1].pose, NULL));
    TRY(abut_picture_add_line(picture, at(t, 0, 0, 0), at(t, 1, 1, 1), 1, abut_picture_colour(1)));
    TRY(abut_picture_add_point(picture, at(t, 1, 0, 0), 3, abut_picture_colour(2)));
    TRY(abut_picture_render(picture, sizeof colours, colours));
}

static void try_radial(trial *t) {
    AUTO(mesh) mesh = scaled(t, ABUT_SHAPE_CAPSULE, 12, 6);
    const uint32_t triangles = abut_mesh_triangle_count(mesh);
    uint32_t *all = test_malloc(triangles * sizeof *all);
    for (uint32_t i = 0; i < triangles; i++)
        all[i] = i;
    abut_radial_axis axis = {.begin = at(t, 0, 0, -0.5),
                             .end = at(t, 0, 0, 0.5),
                             .triangles = all,
                             .triangle_count = triangles};
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    options.axes = &axis;
    options.axis_count = 1;
    const abut_character_matrix still = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    for (int kind = 0; kind < 2; kind++) {
        options.cell = kind ? 0.1 * t->scale : 0;
        radial = NULL;
        if (TRY(abut_radial_create_mesh(mesh, 1, &options, &radial))) {
            const uint32_t count = abut_mesh_vertex_count(mesh);
            abut_vec3 *positions = test_malloc(count * sizeof *positions);
            const abut_vec3 *from = abut_mesh_local_positions(mesh),
                            o = abut_mesh_local_origin(mesh);
            for (uint32_t i = 0; i < count; i++)
                positions[i] = (abut_vec3){o.x + from[i].x, o.y + from[i].y, o.z + from[i].z};
            if (TRY(abut_radial_set_positions(radial, &still, abut_array_host(positions)))) {
                const abut_vec3 point = at(t, 0.7, 0.1, 0.1);
                abut_radial_answer answer;
                if (TRY(abut_radial_evaluate(radial, abut_array_host(&point), 1, INFINITY,
                                             abut_array_host(&answer))) &&
                    t->compares)
                    same(t, kind ? "radial plane" : "radial", answer.distance, 1, 1e-5);
                abut_vec3 to = at(t, -0.7, 0.1, 0.1), from_point = point;
                abut_radial_hit hit;
                abut_radial_particles particles = abut_radial_particles_default();
                particles.count = 1;
                particles.from = abut_array_host(&from_point);
                particles.to = abut_array_host(&to);
                particles.hits = abut_array_host(&hit);
                if (TRY(abut_radial_collide(radial, &particles)) && t->compares)
                    assert_int_equal(1, particles.hit_count);
                abut_mesh *surface = NULL;
                TRY(abut_radial_surface(radial, 0, &surface));
                abut_mesh_destroy(surface);
                abut_radial_measures measures = abut_radial_measures_default();
                TRY(abut_radial_measure(radial, mesh, NULL, &measures));
                static abut_contact list[64];
                abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 64};
                const abut_capsule capsule = {{at(t, 0.5, 0, 0), at(t, 1, 0, 0.2)}, 0.1 * t->scale};
                TRY(abut_radial_contacts(radial, 1, &capsule, NULL, &contacts));
            }
            test_free(positions);
        }
        abut_radial_destroy(radial);
    }
    test_free(all);
}

static void try_families(trial *t) {
    try_fields(t);
    try_maps(t);
    try_images(t);
    try_radial(t);
}
