// SPDX-License-Identifier: GPL-3.0-or-later

/// The version number. This is its only source: packages and releases get it through scripts/version, which also checks that
/// CHANGELOG.md and the documents agree.
public let version = "0.2.0"
