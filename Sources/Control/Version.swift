// SPDX-License-Identifier: GPL-3.0-or-later

/// The number of the version, as the `ready` event says it. It stands here and nowhere else: packages and releases have
/// it from scripts/version, which also looks whether CHANGELOG.md and the documents agree.
public let version = "0.2.0"
