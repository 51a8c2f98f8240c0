/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

/* What the Swift library asks of libdispatch for executors that nobody has here: all work is on the one thread of EventLoop.
   Where scripts/build links, these stand in, and libdispatch is left out: a quarter of a megabyte, and 4,200 addresses to
   correct at each start. Whoever calls one of them after all ends the program. (--wrap would not do: the linker has taken
   libdispatch by then.) */
#define NO_FUNCTION(name) _Noreturn void name(void) { abort(); }
#define NO_VARIABLE(name) char name[sizeof(long)];

#ifdef WITHOUT_DISPATCH
NO_FUNCTION(dispatch_activate)
NO_FUNCTION(dispatch_after_f)
NO_FUNCTION(dispatch_assert_queue)
NO_FUNCTION(dispatch_async_f)
NO_FUNCTION(dispatch_main)
NO_FUNCTION(dispatch_queue_attr_make_with_qos_class)
NO_FUNCTION(dispatch_queue_create)
NO_FUNCTION(dispatch_queue_set_width)
NO_FUNCTION(dispatch_release)
NO_FUNCTION(dispatch_set_context)
NO_FUNCTION(dispatch_source_create)
NO_FUNCTION(dispatch_source_set_event_handler_f)
NO_FUNCTION(dispatch_source_set_timer)
NO_FUNCTION(dispatch_walltime)
NO_VARIABLE(_dispatch_main_q)
NO_VARIABLE(_dispatch_queue_attr_concurrent)
NO_VARIABLE(_dispatch_source_type_timer)
#endif
