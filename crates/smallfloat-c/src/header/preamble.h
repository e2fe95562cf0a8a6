/* smallfloat: small floating-point formats, exactly. C11, and C++ from C++11 on; smallfloat.hpp has types.
 *
 * Operations, formats and projections are handles, made by name and freed by the function of that name. A
 * handle never changes: any number of threads may use one at the same time. No result depends on what other
 * calls leave behind; long arrays share one pool of threads.
 *
 * Handles, results and texts may be NULL where a function says so; elsewhere NULL is SF_STATUS_NULL and
 * nothing else happens. What has to be right: handles come from this library and are not yet freed, texts
 * end with a 0, arrays and buffers are as long as is said. Texts are UTF-8.
 *
 * Written by cbindgen from crates/smallfloat-c; a test fails where this is not up to date. */
