/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libmosquitto's headers, which scripts/mosquitto puts next to its archive. */
#pragma once
#include <stdbool.h>
#if !__has_include("../../.build/mosquitto/include/mosquitto.h")
#error "libmosquitto is missing: run scripts/setup, which builds it"
#endif
#include "../../.build/mosquitto/include/mosquitto.h"
#include "../../.build/mosquitto/include/mqtt_protocol.h"
/* OpenSSL: why a certificate is refused, and HMAC for the digests of events. */
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
