// SPDX-License-Identifier: GPL-3.0-or-later

/// The version of the program, as `--version` and the `ready` event say it.
public let version = "0.1.0"
