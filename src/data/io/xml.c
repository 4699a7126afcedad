/* Reading of XML by expat; see xml.h. */
#include "io/xml.h"

#include <string.h>

const char *abuti_xml_get(const abuti_xml *xml, uint32_t element, const char *attribute) {
    const abuti_xml_element *at = abuti_xml_at(xml, element);
    const abuti_xml_attribute *list = xml->attributes.data;
    for (uint32_t i = 0; i < at->attribute_count; i++)
        if (!strcmp(xml->letters + list[at->first_attribute + i].name, attribute))
            return xml->letters + list[at->first_attribute + i].value;
    return NULL;
}

uint32_t abuti_xml_child(const abuti_xml *xml, uint32_t parent, const char *name, uint32_t after) {
    const uint32_t end = abuti_xml_at(xml, parent)->next;
    uint32_t at = after == ABUT_NONE ? parent + 1 : abuti_xml_at(xml, after)->next;
    while (at < end && name && strcmp(abuti_xml_name(xml, at), name))
        at = abuti_xml_at(xml, at)->next;
    return at < end ? at : ABUT_NONE;
}

void abuti_xml_release(abuti_xml *xml) {
    ABUTI_RELEASE(xml->context, xml->elements.data, xml->attributes.data, xml->letters);
    *xml = (abuti_xml){.context = xml->context};
}

#ifdef ABUT_HAS_URDF

#include <expat.h>

typedef struct xml_reader {
    abuti_xml *xml;
    XML_Parser parser;
    const char *name;
    uint32_t open, depth; /* the innermost element that has not ended */
    abut_status status;
} xml_reader;

/* Stops the parser with a message. */
static void stop_reader(xml_reader *r, abut_status status, const char *reason) {
    if (!r->status)
        r->status = status == ABUT_ERROR_MEMORY
                        ? status
                        : abuti_fail(status, "%s: line %lu: %s", r->name,
                                     (unsigned long)XML_GetCurrentLineNumber(r->parser), reason);
    XML_StopParser(r->parser, XML_FALSE);
}

static bool add_text(xml_reader *r, const char *text, size_t *at) {
    abuti_xml *xml = r->xml;
    const size_t bytes = strlen(text) + 1;
    if (xml->letter_count + bytes > xml->letter_room &&
        abuti_grow(xml->context, &xml->letters, xml->letter_count, xml->letter_count + bytes, 1,
                   &xml->letter_room))
        return false;
    memcpy(xml->letters + xml->letter_count, text, bytes);
    *at = xml->letter_count;
    xml->letter_count += bytes;
    return true;
}

static void start_element(void *user, const XML_Char *name, const XML_Char **attributes) {
    xml_reader *r = user;
    abuti_xml *xml = r->xml;
    abuti_xml_element element = {.parent = r->open,
                                 .first_attribute = (uint32_t)xml->attributes.count,
                                 .line = (uint32_t)XML_GetCurrentLineNumber(r->parser)};
    if (r->status)
        return;
    if (++r->depth > ABUTI_XML_DEPTH) {
        stop_reader(r, ABUT_ERROR_LIMIT, "elements are nested more than 256 deep");
        return;
    }
    if (xml->elements.count >= ABUTI_XML_ELEMENTS || xml->attributes.count >= ABUTI_XML_ELEMENTS) {
        stop_reader(r, ABUT_ERROR_LIMIT, "there are more than 1,000,000 elements or attributes");
        return;
    }
    bool is_stored = add_text(r, name, &element.name);
    for (; *attributes && is_stored; attributes += 2, element.attribute_count++) {
        abuti_xml_attribute *at = ABUTI_PUSH(xml->context, &xml->attributes, abuti_xml_attribute);
        is_stored =
            at && add_text(r, attributes[0], &at->name) && add_text(r, attributes[1], &at->value);
    }
    abuti_xml_element *to =
        is_stored ? ABUTI_PUSH(xml->context, &xml->elements, abuti_xml_element) : NULL;
    if (!to) {
        stop_reader(r, ABUT_ERROR_MEMORY, NULL);
        return;
    }
    *to = element;
    r->open = (uint32_t)xml->elements.count - 1;
}

static void end_element(void *user, const XML_Char *name) {
    xml_reader *r = user;
    (void)name;
    if (r->status)
        return;
    abuti_xml_element *element = (abuti_xml_element *)r->xml->elements.data + r->open;
    element->next = (uint32_t)r->xml->elements.count;
    r->open = element->parent;
    r->depth--;
}

static void start_doctype(void *user, const XML_Char *name, const XML_Char *system,
                          const XML_Char *public, int has_internal_subset) {
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal_subset;
    stop_reader(user, ABUT_ERROR_UNSUPPORTED, "has a DOCTYPE, which is not read; remove it");
}

static abut_status feed(xml_reader *r, abuti_source *source) {
    uint64_t total = 0;
    for (bool at_end = false; !at_end && !r->status;) {
        const size_t bytes = abuti_source_fill(source, 1);
        at_end = !bytes;
        total += bytes;
        if (total > ABUTI_XML_BYTES)
            return abuti_fail(ABUT_ERROR_LIMIT, "%s: is longer than 256 MiB", r->name);
        const enum XML_Status parsed =
            XML_Parse(r->parser, (const char *)source->at, (int)bytes, at_end);
        source->at += bytes;
        if (parsed == XML_STATUS_OK || r->status)
            continue;
        const enum XML_Error error = XML_GetErrorCode(r->parser);
        if (error == XML_ERROR_NO_MEMORY)
            return abuti_fail(ABUT_ERROR_MEMORY, "%s: expat ran out of memory", r->name);
        stop_reader(r, ABUT_ERROR_FORMAT, XML_ErrorString(error));
    }
    return r->status;
}

abut_status abuti_xml_read(abut_context *context, const char *name, abuti_source *source,
                           abuti_xml *xml) {
    memset(xml, 0, sizeof *xml);
    xml->context = context;
    xml_reader r = {.xml = xml, .name = name, .open = ABUT_NONE};
    r.parser = XML_ParserCreate(NULL);
    if (!r.parser)
        return abuti_fail(ABUT_ERROR_MEMORY, "%s: expat ran out of memory", name);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, start_element, end_element);
    XML_SetStartDoctypeDeclHandler(r.parser, start_doctype);
    abut_status status = abuti_source_outcome(source, feed(&r, source));
    XML_ParserFree(r.parser);
    if (!status && source->failed)
        status = abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", name);
    if (status)
        abuti_xml_release(xml);
    return status;
}

#else

abut_status abuti_xml_read(abut_context *context, const char *name, abuti_source *source,
                           abuti_xml *xml) {
    (void)source;
    memset(xml, 0, sizeof *xml);
    xml->context = context;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "%s: is XML; this build of abut was made without expat, which reads it",
                      name);
}

#endif
