/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include <stdbool.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
/* OpenSSL: why a certificate is refused, and HMAC for the digests of events. */
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
