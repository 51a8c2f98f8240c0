// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
import Glibc

var major: CInt = 0
var minor: CInt = 0
var revision: CInt = 0
mosquitto_lib_init()
mosquitto_lib_version(&major, &minor, &revision)
let client = mosquitto_new("ancsd", true, nil)
let secured = mosquitto_tls_set(
  client, "/etc/ssl/certs/ca-certificates.crt", nil, nil, nil, nil)
print(
  "libmosquitto \(major).\(minor).\(revision), TLS: \(String(cString: mosquitto_strerror(secured)))"
)
mosquitto_destroy(client)
