/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libmosquitto's headers, from where scripts/mosquitto leaves them beside its archive. */
#pragma once
#include <stdbool.h>
#if !__has_include("../../.build/mosquitto/include/mosquitto.h")
#error "libmosquitto is not there: run scripts/setup, which makes it"
#endif
#include "../../.build/mosquitto/include/mosquitto.h"
#include "../../.build/mosquitto/include/mqtt_protocol.h"
/* Why TLS does not take a certificate, and the digest of what is told. */
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
