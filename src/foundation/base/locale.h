/* The thread locales of POSIX, on all systems. */
#ifndef ABUTI_BASE_LOCALE_H
#define ABUTI_BASE_LOCALE_H

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#ifdef _WIN32
#define LC_ALL_MASK 0
typedef _locale_t locale_t;
/* Supports only the "C" locale. */
locale_t newlocale(int mask, const char *name, locale_t base);
void freelocale(locale_t locale);
/* Sets the locale of the calling thread. Pass the result of the first call to restore the old one.
 */
locale_t uselocale(locale_t locale);
#endif

#endif
