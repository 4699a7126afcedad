/* Locales of a thread, as POSIX has them. */
#ifndef ABUTI_BASE_LOCALE_H
#define ABUTI_BASE_LOCALE_H

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#ifdef _WIN32
#define LC_ALL_MASK 0
typedef _locale_t locale_t;
/* The "C" locale is the only one that can be had. */
locale_t newlocale(int mask, const char *name, locale_t base);
void freelocale(locale_t locale);
/* Sets the calling thread's, and gives what takes it back. */
locale_t uselocale(locale_t locale);
#endif

#endif
