/* XML documents as one flat list of elements with attributes, in the order of the text. Character
 * data between elements is ignored.
 *
 * The contents of an element follow it; `next` is the index after all of them, as in json.h. The
 * parser is expat, which allocates from libc, since its allocator has no user pointer. Documents
 * with a DOCTYPE are rejected, so there are no entities that could expand. */
#ifndef ABUTI_IO_XML_H
#define ABUTI_IO_XML_H

#include "base/base.h"

#define ABUTI_XML_DEPTH 256            /* nesting depth of elements */
#define ABUTI_XML_ELEMENTS 1000000     /* number of elements, and of attributes */
#define ABUTI_XML_BYTES (256ull << 20) /* length of the text */

typedef struct abuti_xml_attribute {
    size_t name, value; /* positions in `letters` */
} abuti_xml_attribute;

typedef struct abuti_xml_element {
    size_t name; /* position in `letters` */
    uint32_t parent, next;
    uint32_t first_attribute, attribute_count;
    uint32_t line;
} abuti_xml_element;

typedef struct abuti_xml {
    abut_context *context;
    abuti_vector elements, attributes; /* the first element is the root */
    char *letters;                     /* terminated strings */
    size_t letter_count, letter_room;
} abuti_xml;

/* Reads a document from a source to its end; `name` begins messages. Returns ABUT_ERROR_FORMAT for
 * errors of the text, ABUT_ERROR_LIMIT beyond the limits above, and ABUT_ERROR_UNSUPPORTED without
 * expat. */
abut_status abuti_xml_read(abut_context *context, const char *name, abuti_source *source,
                           abuti_xml *xml);
/* Releases a document, which is then empty. A failed reading leaves an empty document. */
void abuti_xml_release(abuti_xml *xml);

static inline const abuti_xml_element *abuti_xml_at(const abuti_xml *xml, uint32_t element) {
    return (const abuti_xml_element *)xml->elements.data + element;
}
static inline const char *abuti_xml_name(const abuti_xml *xml, uint32_t element) {
    return xml->letters + abuti_xml_at(xml, element)->name;
}
/* Returns the value of an attribute, or null. */
const char *abuti_xml_get(const abuti_xml *xml, uint32_t element, const char *attribute);
/* Returns the first child of this name, or the next one after the child `after`; ABUT_NONE if there
 * is none. A null name matches all; `after` may be ABUT_NONE. */
uint32_t abuti_xml_child(const abuti_xml *xml, uint32_t parent, const char *name, uint32_t after);

#endif
