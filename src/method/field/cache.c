/* Fields in the disk cache (base/cache.h), one file for each mesh and set of options, in the .abutf
 * format.
 *
 * The key is a digest of the mesh and of everything that determines values. It covers the computed
 * grid and band, so that different options for the same field find the same entry. A loaded field
 * is compared with mesh and options once more.
 */
#include "field/field.h"

static void find_entry(const abut_mesh *mesh, const abut_field_options *o, const abut_grid *grid,
                       double band, field_cache *cache) {
    const vec3 from = mesh->origin; /* values are rounded relative to it */
    const double lengths[] = {grid->origin.x, grid->origin.y, grid->origin.z, grid->cell,
                              band,           from.x,         from.y,         from.z};
    const uint32_t numbers[] = {grid->count[0], grid->count[1],    grid->count[2],
                                o->layout,      (uint32_t)o->type, (uint32_t)o->sign};
    unsigned char key[ABUTI_DIGEST_BYTES];
    abuti_digest sum;
    abuti_mesh_digest(mesh, cache->mesh);
    abuti_digest_begin(&sum);
    abuti_digest_text(&sum, abut_version()); /* another version may round differently */
    abuti_digest_add(&sum, cache->mesh, sizeof cache->mesh);
    abuti_digest_add(&sum, lengths, sizeof lengths);
    abuti_digest_add(&sum, numbers, sizeof numbers);
    abuti_digest_end(&sum, key);
    abuti_cache_find(mesh->context, &abuti_cache_fields, o->cache, key, &cache->entry);
}

static abut_status read_entry(abut_context *context, const abuti_cache_entry *entry,
                              abut_field **field) {
    abuti_source source;
    abut_status status = abuti_cache_open(context, entry, &source);
    if (status)
        return status;
    status = abuti_field_restore(&source, entry->path, field);
    abuti_source_close(&source);
    return status;
}

/* Whether a field matches the options. If the options leave the sign method open, the mesh
 * determines it. */
static bool matches_options(const abut_field *field, const field_cache *cache,
                            const abut_field_options *o, const abut_grid *grid, double band) {
    const abut_grid *g = &field->grid;
    return field->has_digest && memcmp(field->digest, cache->mesh, sizeof field->digest) == 0 &&
           field->layout == o->layout && field->type == o->type &&
           (o->sign == ABUT_SIGN_AUTO || field->sign == o->sign) && field->band == band &&
           g->cell == grid->cell && g->origin.x == grid->origin.x &&
           g->origin.y == grid->origin.y && g->origin.z == grid->origin.z &&
           memcmp(g->count, grid->count, sizeof g->count) == 0;
}

abut_status abuti_field_cache_load(abut_mesh *mesh, const abut_field_options *o,
                                   abut_device *device, field_cache *cache, abut_field **field) {
    abut_grid grid;
    double band;
    abut_field *made = NULL;
    cache->entry.path[0] = 0;
    if (!o->cache)
        return ABUT_OK;
    abut_status status = abuti_field_plan(mesh, o, &grid, &band);
    if (status)
        return status;
    find_entry(mesh, o, &grid, band, cache);
    if (!abuti_cache_exists(&cache->entry))
        return ABUT_OK;
    status = read_entry(mesh->context, &cache->entry, &made);
    if (!status && !matches_options(made, cache, o, &grid, band)) {
        abut_field_destroy(made);
        made = NULL;
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: contains a field that does not match its key",
                            cache->entry.path);
    }
    if ((status = abuti_cache_end(mesh->context, &cache->entry, status)) || !made)
        return status;
    made->mesh = abut_mesh_retain(mesh);
    if (device && (status = abuti_field_upload(made, device))) {
        abut_field_destroy(made);
        return status;
    }
    *field = made;
    return ABUT_OK;
}

static abut_status write_field(const void *data, abuti_sink *sink) {
    return abuti_field_save(data, sink, false);
}

void abuti_field_cache_store(const field_cache *cache, const abut_field *field) {
    abuti_cache_store_stream(field->context, &cache->entry, write_field, field);
}

/* ---- list, verify and clear ---- */

typedef struct listing {
    abut_context *context;
    bool verify;
    abut_field_cache_visit *visit;
    void *user;
} listing;

static abut_status list_entry(void *user, const abuti_cache_file *file, bool *more) {
    const listing *l = user;
    char problem[1024];
    abuti_source source;
    abut_field *field = NULL;
    abut_field_info info = abut_field_info_default();
    unsigned char mesh[ABUTI_DIGEST_BYTES] = {0};
    abut_field_cache_entry entry;
    memset(&entry, 0, sizeof entry);
    abut_status status = abuti_cache_open(l->context, &file->entry, &source);
    if (!status) {
        status = abuti_field_restore_info(&source, file->entry.path, &info, mesh);
        if (!status)
            abuti_folder_name(mesh, entry.mesh);
        abuti_source_close(&source);
    }
    if (!status && l->verify && !(status = read_entry(l->context, &file->entry, &field)))
        abut_field_get_info(field, &info);
    abut_field_destroy(field);
    if (status == ABUT_ERROR_MEMORY || status == ABUT_ERROR_CANCELLED)
        return status;
    snprintf(problem, sizeof problem, "%s", abut_last_error());
    entry.size = sizeof entry;
    entry.path = file->entry.path;
    entry.info = &info;
    entry.stored_bytes = file->bytes;
    entry.age = file->age;
    entry.problem = status ? problem : NULL;
    *more = l->visit(l->user, &entry);
    return ABUT_OK;
}

static abut_status list_folder(const char *function, const char *folder, listing l) {
    if (!l.visit)
        return abuti_null(function, "visit");
    l.context = abuti_context_of(l.context);
    return abuti_cache_list(function, l.context, &abuti_cache_fields, folder, list_entry, &l);
}

abut_status abut_field_cache_list(abut_context *context, const char *folder,
                                  abut_field_cache_visit *visit, void *user) {
    return list_folder(__func__, folder, (listing){context, false, visit, user});
}

abut_status abut_field_cache_verify(abut_context *context, const char *folder,
                                    abut_field_cache_visit *visit, void *user) {
    return list_folder(__func__, folder, (listing){context, true, visit, user});
}

abut_status abut_field_cache_clear(abut_context *context, const char *folder, double age,
                                   uint64_t *files, uint64_t *bytes) {
    return abuti_cache_clear(__func__, abuti_context_of(context), &abuti_cache_fields, folder, age,
                             files, bytes);
}
