/* A disk cache of fields.
 *
 * The digest of the mesh names the file. A second digest of everything that determines values
 * selects the field in it. That digest covers the computed grid and band, so that different options
 * for the same field find the same entry. A loaded field is compared with the options once more. A
 * cache only saves time: a field that cannot be found, read or verified is logged and built, and a
 * field that cannot be stored is logged and returned to the caller.
 */
#include "field/cache.h"

#include "base/system.h"

#include <errno.h>

bool abuti_cache_folder(const char *given, char *folder, size_t bytes) {
    if (given[0]) {
        int length = snprintf(folder, bytes, "%s", given);
        return length > 0 && (size_t)length < bytes;
    }
    if (!abuti_folder_own(folder, bytes))
        return false;
    size_t used = strlen(folder);
    int length = snprintf(folder + used, bytes - used, "/fields");
    return length > 0 && (size_t)length < bytes - used;
}

/* ---- location ---- */

static void compute_field_key(const abut_mesh *mesh, const abut_field_options *o,
                              const abut_grid *grid, double band,
                              unsigned char key[ABUTI_DIGEST_BYTES]) {
    const vec3 from = mesh->origin; /* values are rounded relative to it */
    const double lengths[] = {grid->origin.x, grid->origin.y, grid->origin.z, grid->cell,
                              band,           from.x,         from.y,         from.z};
    const uint32_t numbers[] = {grid->count[0], grid->count[1],    grid->count[2],
                                o->layout,      (uint32_t)o->type, (uint32_t)o->sign};
    abuti_digest sum;
    abuti_digest_begin(&sum);
    abuti_digest_text(&sum, abut_version()); /* another version may round differently */
    abuti_digest_add(&sum, lengths, sizeof lengths);
    abuti_digest_add(&sum, numbers, sizeof numbers);
    abuti_digest_end(&sum, key);
}

void abuti_cache_file_path(abut_context *context, const char *folder, const unsigned char *digest,
                           const char *ending, char path[CACHE_PATH_BYTES]) {
    char name[ABUTI_HEX_BYTES];
    bool there = abuti_cache_folder(folder, path, CACHE_PATH_BYTES);
    if (there) {
        abuti_folder_name(digest, name);
        size_t used = strlen(path), room = CACHE_PATH_BYTES - used;
        int length = snprintf(path + used, room, "/%s%s", name, ending);
        if (length > 0 && (size_t)length < room) {
            if (!abuti_folder_is_usable(context, path))
                path[0] = 0;
            return;
        }
    }
    path[0] = 0;
    if (there || folder[0])
        abuti_log(context, ABUT_LOG_WARNING,
                  "the path of the cache folder is too long, so nothing is cached");
}

/* ---- load ---- */

/* Whether a field matches the options. If the options leave the sign method open, the mesh
 * determines it. */
static bool matches_options(const abut_field *field, const abut_field_options *o,
                            const abut_grid *grid, double band) {
    const abut_grid *g = &field->grid;
    return field->layout == o->layout && field->type == o->type &&
           (o->sign == ABUT_SIGN_AUTO || field->sign == o->sign) && field->band == band &&
           g->cell == grid->cell && g->origin.x == grid->origin.x &&
           g->origin.y == grid->origin.y && g->origin.z == grid->origin.z &&
           memcmp(g->count, grid->count, sizeof g->count) == 0;
}

static abut_status read_cached_field(const cache_place *place, abut_mesh *mesh,
                                     const abut_field_options *o, const abut_grid *grid,
                                     double band, abut_field **field) {
    cache_file file;
    abut_field *made = NULL;
    abut_status status = abuti_cache_file_open(&file, mesh->context, place->path);
    if (status)
        return status;
    const cache_item *item = abuti_cache_file_find(&file, place->key);
    if (memcmp(file.mesh, place->mesh, sizeof file.mesh) != 0)
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: belongs to another mesh", place->path);
    else if (item)
        status = abuti_cache_file_load(&file, item, &made);
    if (!status && made && !matches_options(made, o, grid, band))
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: contains a field that does not match its key",
                            place->path);
    abuti_cache_file_close(&file);
    if (status)
        abut_field_destroy(made);
    else if (made) {
        made->mesh = abut_mesh_retain(mesh);
        *field = made;
    }
    return status;
}

abut_status abuti_cache_load(abut_mesh *mesh, const abut_field_options *o, cache_place *place,
                             abut_field **field) {
    abut_grid grid;
    double band;
    abut_status status = abuti_field_plan(mesh, o, &grid, &band);
    if (status)
        return status;
    abuti_mesh_digest(mesh, place->mesh);
    compute_field_key(mesh, o, &grid, band, place->key);
    abuti_cache_file_path(mesh->context, o->cache, place->mesh, CACHE_SUFFIX, place->path);
    if (!place->path[0] || (access(place->path, F_OK) != 0 && errno == ENOENT))
        return ABUT_OK;
    status = read_cached_field(place, mesh, o, &grid, band, field);
    if (status == ABUT_ERROR_MEMORY || status == ABUT_ERROR_CANCELLED)
        return status;
    if (status)
        abuti_log(mesh->context, ABUT_LOG_WARNING,
                  "the field is built, since the cache cannot be used: %s", abut_last_error());
    else
        abuti_system_touch(place->path); /* marks the time of the last use */
    return ABUT_OK;
}

/* ---- store ---- */

void abuti_cache_store(const cache_place *place, const abut_field *field) {
    if (!place->path[0])
        return;
    if (abuti_cache_file_add(field->context, place->path, place->mesh, place->key, field))
        abuti_log(field->context, ABUT_LOG_WARNING, "the field is not stored in the cache: %s",
                  abut_last_error());
}
