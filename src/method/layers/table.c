/* Sums of pairs in hash tables, one per chunk. */
#include "layers/layers.h"

#include <string.h>

static uint64_t key_of(uint32_t a, uint32_t b) {
    return (uint64_t)a << 32 | b;
}

static size_t slot_of_key(uint64_t key, size_t slots) {
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (slots - 1);
}

static void insert_number(layers_table *table, uint32_t number) {
    const layers_sum *s = (const layers_sum *)table->sums.data + number;
    uint32_t *slots = table->slots.data;
    size_t at = slot_of_key(key_of(s->a, s->b), table->slots.count);
    while (slots[at])
        at = (at + 1) & (table->slots.count - 1);
    slots[at] = number + 1;
}

static abut_status grow_table(abut_context *context, layers_table *table) {
    size_t before = table->slots.count, wanted = before ? 2 * before : 64;
    table->slots.count = 0; /* all entries are inserted again */
    abut_status status = abuti_vector_reserve(context, &table->slots, wanted, sizeof(uint32_t));
    if (status) {
        table->slots.count = before;
        return status;
    }
    table->slots.count = wanted;
    memset(table->slots.data, 0, wanted * sizeof(uint32_t));
    for (uint32_t i = 0; i < table->sums.count; i++)
        insert_number(table, i);
    return ABUT_OK;
}

layers_sum *abuti_layers_find_sum(abut_context *context, layers_table *table, uint32_t a,
                                  uint32_t b) {
    if (a > b) {
        uint32_t t = a;
        a = b;
        b = t;
    }
    const uint32_t *slots = table->slots.data;
    layers_sum *sums = table->sums.data;
    if (table->slots.count)
        for (size_t at = slot_of_key(key_of(a, b), table->slots.count); slots[at];
             at = (at + 1) & (table->slots.count - 1))
            if (sums[slots[at] - 1].a == a && sums[slots[at] - 1].b == b)
                return &sums[slots[at] - 1];
    if (abuti_vector_reserve(context, &table->sums, table->sums.count + 1, sizeof(layers_sum)) ||
        (2 * (table->sums.count + 1) > table->slots.count && grow_table(context, table)))
        return NULL;
    layers_sum *made = (layers_sum *)table->sums.data + table->sums.count;
    *made = layers_empty_sum(a, b);
    made->last_pixel = UINT64_MAX;
    insert_number(table, (uint32_t)table->sums.count++);
    return made;
}

void abuti_layers_table_clear(layers_table *table) {
    table->sums.count = 0;
    if (table->slots.count)
        memset(table->slots.data, 0, table->slots.count * sizeof(uint32_t));
}

static void add_wide(layers_wide *to, const layers_wide *from) {
    to->high += from->high;
    layers_add(to, from->low);
}

void abuti_layers_add_sum(layers_sum *to, const layers_sum *from) {
    to->pixels += from->pixels;
    to->intervals += from->intervals;
    to->edges_a += from->edges_a;
    to->edges_b += from->edges_b;
    to->enters_a += from->enters_a;
    to->leaves_a += from->leaves_a;
    add_wide(&to->length, &from->length);
    add_wide(&to->volume, &from->volume);
    add_wide(&to->x, &from->x);
    add_wide(&to->y, &from->y);
    add_wide(&to->z, &from->z);
    to->longest = to->longest > from->longest ? to->longest : from->longest;
    to->x0 = to->x0 < from->x0 ? to->x0 : from->x0;
    to->y0 = to->y0 < from->y0 ? to->y0 : from->y0;
    to->z0 = to->z0 < from->z0 ? to->z0 : from->z0;
    to->x1 = to->x1 > from->x1 ? to->x1 : from->x1;
    to->y1 = to->y1 > from->y1 ? to->y1 : from->y1;
    to->z1 = to->z1 > from->z1 ? to->z1 : from->z1;
}

abut_status abuti_layers_collect(abut_layers *layers, uint32_t view, layers_output *to) {
    size_t sums = to->more.count, touches = to->touches.count;
    for (size_t c = 0; c < LAYERS_CHUNKS; c++) {
        sums += layers->chunks[c].table.sums.count;
        touches += layers->chunks[c].touches.count;
    }
    abut_status status = abuti_vector_reserve(layers->context, &to->more, sums, sizeof(layers_sum));
    if (!status)
        status = abuti_vector_reserve(layers->context, &to->touches, touches, sizeof(layers_touch));
    for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++) {
        const layers_chunk *from = &layers->chunks[c];
        for (size_t i = 0; i < from->table.sums.count; i++) {
            layers_sum *made = (layers_sum *)to->more.data + to->more.count++;
            *made = ((const layers_sum *)from->table.sums.data)[i];
            made->view = view;
        }
        for (size_t i = 0; i < from->touches.count; i++)
            ((layers_touch *)to->touches.data)[to->touches.count++] =
                ((const layers_touch *)from->touches.data)[i];
    }
    return status;
}
