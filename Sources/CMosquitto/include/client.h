/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include <stdbool.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
/* OpenSSL: whom to trust, why a certificate is refused, and HMAC for the digests of events. */
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* Makes connections of this context verify that the certificate is for a host: an address, or a name, which they also send
   (SNI). libmosquitto cannot do either, because it only gets the address that the name was resolved to. */
bool tls_expect_host(SSL_CTX *context, const char *host);
