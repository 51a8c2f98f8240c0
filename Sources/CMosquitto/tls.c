/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"

#include <openssl/x509v3.h>

/* Replaces the name that libmosquitto has set. Without one, because the host is an address, nothing is sent. */
static void send_name(const SSL *connection, int where, int value) {
  (void)value;
  if (where != SSL_CB_HANDSHAKE_START) return;
  SSL *ssl = (SSL *)connection;
  SSL_set_tlsext_host_name(ssl, X509_VERIFY_PARAM_get0_host(SSL_get0_param(ssl), 0));
}

bool tls_expect_host(SSL_CTX *context, const char *host) {
  X509_VERIFY_PARAM *expected = SSL_CTX_get0_param(context);
  SSL_CTX_set_info_callback(context, send_name);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host) == 1) return true;
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(expected, host, 0) == 1;
}
