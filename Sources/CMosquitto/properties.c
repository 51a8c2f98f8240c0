/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"

/* libmosquitto ends the connection if it dislikes the properties of a message: one that occurs twice, or, since 2.0.12, a
   Response Topic with a wildcard. Brokers deliver such messages, so anybody who may publish one, perhaps retained, would keep
   its subscribers off the broker. The library calls this function through the dynamic linker, which takes the program's own. The
   bridge checks what it uses of a message, and its own properties are valid. */
int mosquitto_property_check_all(int command, const mosquitto_property *properties) {
  (void)command;
  (void)properties;
  return MOSQ_ERR_SUCCESS;
}
