/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

/* Stubs for libdispatch. The Swift library needs it for executors that ancsd does not use: all work is on EventLoop's one
   thread. In the release these are linked instead, which saves a quarter of a megabyte and 4,200 relocations at each start.
   A call ends the program. (--wrap would come too late: the linker would already have loaded libdispatch.) */
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
